import { AppError, type ErrorCode } from '@hookferry/core/platform/app-error';
import { inWords } from '@hookferry/core/platform/zod-words';
import { Option } from 'commander';
import { z } from 'zod';
import type { EgressConfig } from './config';
import type { AdminContext } from './context';

/** The output of a command: its result goes to `out`, messages about it to `error`. */
export interface Output {
  out(text: string): void;
  error(text: string): void;
}

/** The context of every command. */
export interface Cli {
  readonly output: Output;
  /** How deliveries leave. @throws ConfigError with one line for each wrong variable. */
  readonly egress: () => EgressConfig;
  /** Of the database of the history. @throws UsageError when it is not set. */
  readonly historyUrl: () => string;
  /** Connects to Redis for as long as `action` takes. @throws ConfigError, also where no Redis is named. */
  readonly withContext: (action: (context: AdminContext) => Promise<void>) => Promise<void>;
}

/** The command line can't be understood; the message says which part of it. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Something could not be done; the message says why, and what to do about it. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** Waits for `action`; when it is refused with this code, says what to do instead. */
export async function withAdvice<T>(code: ErrorCode, advice: string, action: Promise<T>): Promise<T> {
  try {
    return await action;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== code) throw error;
    throw new Failure(`${error.message} ${advice}`, { cause: error });
  }
}

export const jsonOption = () => new Option('--json', 'print JSON, for programs');
export const jsonSchema = z.boolean().default(false);

const DEFAULT_LIMIT = 50;
export const limitOption = () =>
  new Option('--limit <number>', `how many at most (default: ${DEFAULT_LIMIT})`);
export const limitSchema = z.coerce
  .number('must be a whole number')
  .int('must be a whole number')
  .min(1, 'must be at least 1')
  .default(DEFAULT_LIMIT);

/** @throws UsageError with one line for each wrong flag. */
export function parseFlags<Flags>(schema: z.ZodType<Flags>, given: unknown): Flags {
  const parsed = schema.safeParse(given, inWords);
  if (parsed.success) return parsed.data;
  const validationErrors = parsed.error.issues.map(({ path, message }) => `${flagOf(path[0])}: ${message}`);
  throw new UsageError(validationErrors.join('\n'));
}

/** `dryRun` is given as `--dry-run`. */
function flagOf(name: PropertyKey | undefined): string {
  return `--${String(name).replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
