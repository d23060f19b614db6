import { z } from 'zod';
import { flagSchema } from './common-settings';
import { sealingKeysSchema } from './sealing-key';

/** How the API and the workers protect what is secret in the store. */
export const secretsSettings = {
  SECRETS_ENCRYPTION_KEY: sealingKeysSchema
    .default([])
    .describe(
      '**required**; seals what is secret in Redis; `openssl rand -base64 32` makes one; of several, with commas, the first seals and all open',
    ),
  INSECURE_UNENCRYPTED_SECRETS: flagSchema
    .default(false)
    .describe('to run without that key, and to store secrets as plain text'),
  // Nothing depends on it. A text that is none of these is most likely a typing error, or another's convention.
  NODE_ENV: z
    .enum(['development', 'test', 'production'])
    .optional()
    .describe('`development`, `test` or `production`; anything else is refused'),
};

interface SecretsConfig {
  readonly SECRETS_ENCRYPTION_KEY: readonly unknown[];
  readonly INSECURE_UNENCRYPTED_SECRETS: boolean;
}

export function isProtected(config: SecretsConfig): boolean {
  return config.INSECURE_UNENCRYPTED_SECRETS || config.SECRETS_ENCRYPTION_KEY.length > 0;
}

export const UNPROTECTED = {
  path: ['SECRETS_ENCRYPTION_KEY'],
  message:
    'must be set; "openssl rand -base64 32" makes one, keep it safe ' +
    '(or set INSECURE_UNENCRYPTED_SECRETS=true to store secrets as plain text)',
};
