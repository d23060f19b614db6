import { z } from 'zod';
import { flagSchema } from './common-settings';
import { sealingKeysSchema } from './sealing-key';

/** How the API and the workers protect what is secret in the store. */
export const secretsSettings = {
  /** The first seals, all of them open. */
  SECRETS_ENCRYPTION_KEY: sealingKeysSchema.default([]),
  /** To run without such a key, and to store secrets as plain text. */
  INSECURE_UNENCRYPTED_SECRETS: flagSchema.default(false),
  /** Not that anything depends on it. A text that is none of these is most likely a typing error, or another's convention. */
  NODE_ENV: z.enum(['development', 'test', 'production']).optional(),
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
