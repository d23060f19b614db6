import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { storeSettings } from '@hookferry/core/core/store-settings';
import { proxyUrlSchema, SOURCE_ADDRESSES } from '@hookferry/core/deliver/egress/egress-settings';
import { confirmationSettings, type Environment, readConfig } from '@hookferry/core/platform/settings';
import { z } from 'zod';

// No default, unlike the API: a command that changes another Redis than the API's says nothing of it.
const REDIS_URL = z
  .string(
    'must be set, or REDIS_URL_FILE, to the Redis that the API uses. Only in the folder of an npm start, while that runs, it need not be',
  )
  .pipe(storeSettings.REDIS_URL.unwrap());

const schema = z.object({ ...storeSettings, ...confirmationSettings, REDIS_URL });

export type CliConfig = z.infer<typeof schema>;

/**
 * The settings of commands that connect to the Redis of the API. Without `REDIS_URL` it is the one that `npm start` runs in this folder,
 * while it does, with the key that seals there.
 *
 * @param folder where the command line is used.
 * @throws ConfigError with one line for each wrong variable.
 */
export function readCliConfig(environment: Environment, folder = process.cwd()): CliConfig {
  const isGiven = Boolean(environment.REDIS_URL || environment.REDIS_URL_FILE);
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

const egressSchema = z.object({ SOURCE_ADDRESSES, DELIVERY_PROXY_URL: proxyUrlSchema.optional() });

export type EgressConfig = z.infer<typeof egressSchema>;

/** How deliveries leave. @throws as `readCliConfig` does. */
export function readEgressConfig(environment: Environment): EgressConfig {
  return readConfig(egressSchema, environment);
}

/** The database of the history; `undefined`: none is set. @throws as `readCliConfig` does. */
export function readHistoryUrl(environment: Environment): string | undefined {
  const { HISTORY_DATABASE_URL } = storeSettings;
  return readConfig(z.object({ HISTORY_DATABASE_URL }), environment).HISTORY_DATABASE_URL;
}
