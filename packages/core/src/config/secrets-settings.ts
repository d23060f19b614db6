import { z } from 'zod';
import { sealingKeysSchema } from '../secrets/sealing-key';

/** How the API and the workers protect what is secret in the store. */
export const secretsSettings = {
  NODE_ENV: z.string().optional(),
  /** The first seals, all of them open. Without one, secrets are stored as plain text. */
  SECRETS_ENCRYPTION_KEY: sealingKeysSchema.default([]),
};

interface SecretsConfig {
  readonly NODE_ENV?: string | undefined;
  readonly SECRETS_ENCRYPTION_KEY: readonly unknown[];
}

export function isProtected({ NODE_ENV, SECRETS_ENCRYPTION_KEY }: SecretsConfig): boolean {
  return NODE_ENV !== 'production' || SECRETS_ENCRYPTION_KEY.length > 0;
}

export const UNPROTECTED = {
  path: ['SECRETS_ENCRYPTION_KEY'],
  message: 'must be set with NODE_ENV=production; "openssl rand -base64 32" makes one, keep it safe',
};
