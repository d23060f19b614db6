import { commonSettings } from '@webhooks/core/kernel/common-settings';
import { type Environment, readConfig } from '@webhooks/core/kernel/environment';
import { z } from 'zod';

const { REDIS_URL, RETENTION, RETENTION_COUNT } = commonSettings;

const schema = z.object({ REDIS_URL, RETENTION, RETENTION_COUNT });

export type CliConfig = z.infer<typeof schema>;

/** @throws ConfigError with one line for each wrong variable. */
export function readCliConfig(environment: Environment): CliConfig {
  return readConfig(schema, environment);
}
