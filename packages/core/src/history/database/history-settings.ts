import { z } from 'zod';
import { historyRetentionSchema } from '../../domain/history-retention';
import { durationSchema } from '../../platform/duration';
import { parseUrl } from '../../platform/parse-url';

/** The setting of every program that has to do with the history. */
export const historySettings = {
  HISTORY_DATABASE_URL: z
    .string()
    // No message repeats the value, which may contain a password.
    .refine(
      isDatabaseUrl,
      'must be postgresql://[user[:password]@]host[:port]/database[?sslmode=…] (user and password percent-encoded)',
    )
    .optional()
    .describe('a PostgreSQL that [finished deliveries](history.md) move to: `postgresql://…`'),
};

/** The setting of every program that changes what is configured. */
export const intakeSettings = {
  INTAKE: z
    .enum(['redis', 'durable'])
    .default('redis')
    .describe(
      'what has an event before [its 202](what-a-202-means.md): `redis`, or `durable`: PostgreSQL as well, so that it is sent even if Redis loses it, and [copies of what is configured](backup.md#what-is-configured); the same for all processes; needs `HISTORY_DATABASE_URL`',
    ),
};

interface IntakeConfig {
  readonly INTAKE: 'redis' | 'durable';
  readonly HISTORY_DATABASE_URL?: string | undefined;
}

export function hasIntakeDatabase({ INTAKE, HISTORY_DATABASE_URL }: IntakeConfig): boolean {
  return INTAKE === 'redis' || HISTORY_DATABASE_URL !== undefined;
}

export const NO_INTAKE_DATABASE = {
  path: ['INTAKE'],
  message:
    'is durable, which needs a PostgreSQL: set HISTORY_DATABASE_URL, for the workers as well (or set INTAKE=redis)',
};

/** The settings of the programs that move finished deliveries. */
export const moverSettings = {
  HISTORY_MOVE_AFTER: durationSchema
    .prefault('60s')
    .describe('how long after its end a delivery stays in Redis before it moves to the history'),
  HISTORY_RETENTION: historyRetentionSchema
    .prefault('90d')
    .describe(
      'how long moved deliveries are kept: whole days, from the acceptance of their event; an account may have its own',
    ),
};

function isDatabaseUrl(text: string): boolean {
  return /^postgres(ql)?:$/.test(parseUrl(text)?.protocol ?? '');
}
