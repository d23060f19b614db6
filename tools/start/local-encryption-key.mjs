// @ts-check
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { keepSecret } from './keep-secret.mjs';

// The base64 of 32 bytes.
const KEY_FORM = /^[A-Za-z0-9+/]{43}=$/;

/**
 * The key that secrets are sealed with on this machine: made once for each data folder, and as lost as that is.
 * @param {string} dataFolder
 */
export async function provideEncryptionKey(dataFolder) {
  const create = () => randomBytes(32).toString('base64');
  return await keepSecret(join(dataFolder, 'secrets-encryption-key'), { form: KEY_FORM, create });
}
