// @ts-check
import { randomInt } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isGiven } from './given-environment.mjs';
import { keepSecret } from './keep-secret.mjs';

const KEY_FORM = /^whk_[0-9a-z]{16}_[0-9A-Za-z]{32,}$/;
const DIGITS = '0123456789';
const LOWER_CASE = 'abcdefghijklmnopqrstuvwxyz';

/**
 * The key with every right: the user's own if there is one, else one that is made once for each data folder.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} dataFolder
 * @returns {Promise<string>}
 */
export async function provideApiKey(env, dataFolder) {
  if (isGiven(env, 'BOOTSTRAP_API_KEY')) return await readGivenKey(env);
  return await keepSecret(join(dataFolder, 'api-key'), { form: KEY_FORM, create: createApiKey });
}

/** @param {NodeJS.ProcessEnv} env */
async function readGivenKey({ BOOTSTRAP_API_KEY: key, BOOTSTRAP_API_KEY_FILE: file }) {
  return key ? key : (await readFile(String(file), 'utf8')).trim();
}

function createApiKey() {
  const id = randomText(16, DIGITS + LOWER_CASE);
  const secret = randomText(40, DIGITS + LOWER_CASE + LOWER_CASE.toUpperCase());
  return `whk_${id}_${secret}`;
}

/**
 * @param {number} length
 * @param {string} alphabet
 */
function randomText(length, alphabet) {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}
