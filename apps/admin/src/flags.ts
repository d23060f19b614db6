import { accountIdSchema, DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import { deadLetterQueues } from '@hookferry/core/domain/dead-letter';
import { inWords } from '@hookferry/core/platform/zod-words';
import { Option } from 'commander';
import { z } from 'zod';
import { UsageError } from './usage-error';

export const jsonOption = () => new Option('--json', 'print JSON, for programs');
export const jsonSchema = z.boolean().default(false);

export const accountOption = () => new Option('--account <id>', 'whose keys').default(DEFAULT_ACCOUNT);
export const accountSchema = accountIdSchema;

export const queueOption = () =>
  new Option('--queue <name>', `only those of: ${deadLetterQueues.join(', ')}`);
export const queueSchema = z
  .enum(deadLetterQueues, `must be one of ${deadLetterQueues.join(', ')}`)
  .optional();

/** @throws UsageError with one line for each wrong flag. */
export function parseFlags<Flags>(schema: z.ZodType<Flags>, given: unknown): Flags {
  const parsed = schema.safeParse(given, inWords);
  if (parsed.success) return parsed.data;
  const validationErrors = parsed.error.issues.map(({ path, message }) => `--${String(path[0])}: ${message}`);
  throw new UsageError(validationErrors.join('\n'));
}
