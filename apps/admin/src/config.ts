import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { storeSettings } from '@hookferry/core/core/store-settings';
import { proxyUrlSchema, SOURCE_ADDRESSES } from '@hookferry/core/deliver/egress/egress-settings';
import { confirmationSettings, type Environment, readConfig } from '@hookferry/core/platform/settings';
import { z } from 'zod';

const schema = z.object({
  ...storeSettings,
  ...confirmationSettings,
  SOURCE_ADDRESSES,
  DELIVERY_PROXY_URL: proxyUrlSchema.optional(),
});

export type CliConfig = z.infer<typeof schema>;

/**
 * Without `REDIS_URL` it is the Redis that `npm start` runs in this folder, while it does, with the key that seals there.
 *
 * @param folder where the command line is used.
 * @throws ConfigError with one line for each wrong variable.
 */
export function readCliConfig(environment: Environment, folder = process.cwd()): CliConfig {
  const isGiven = Boolean(environment.REDIS_URL ?? environment.REDIS_URL_FILE);
  const noteOf = (name: string) => join(folder, environment.DATA_DIR ?? '.data', name);
  if (isGiven || !existsSync(noteOf('redis-url'))) return readConfig(schema, environment);
  const { SECRETS_ENCRYPTION_KEY: given, ...others } = environment;
  const keyFile = noteOf('secrets-encryption-key');
  const key =
    given || !existsSync(keyFile)
      ? { SECRETS_ENCRYPTION_KEY: given }
      : { SECRETS_ENCRYPTION_KEY_FILE: keyFile };
  return readConfig(schema, { ...others, ...key, REDIS_URL_FILE: noteOf('redis-url') });
}
