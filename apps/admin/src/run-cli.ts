import { AppError } from '@hookferry/core/platform/app-error';
import { ConfigError, type Environment } from '@hookferry/core/platform/settings';
import { CommanderError } from 'commander';
import type { Cli, Output } from './cli';
import { openService } from './compose';
import { readCliConfig } from './config';
import { Failure } from './failure';
import { createProgram } from './program';
import { UsageError } from './usage-error';

/** 0: done; 1: not possible; 2: the command line or a setting is wrong. */
export type ExitCode = 0 | 1 | 2;

/** Does what the command line asks for. Never rejects. */
export async function runCli(
  args: readonly string[],
  environment: Environment,
  output: Output,
): Promise<ExitCode> {
  try {
    await createProgram(createCli(environment, output)).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    return report(error, output);
  }
}

function createCli(environment: Environment, output: Output): Cli {
  return {
    output,
    async withService(action) {
      const service = await openService(readCliConfig(environment));
      try {
        await action(service);
      } finally {
        await service.close();
      }
    },
  };
}

function report(error: unknown, output: Output): ExitCode {
  // Commander has said already what it has to say; asking for help ends this way too.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  output.error(`${describe(error)}\n`);
  return error instanceof UsageError || error instanceof ConfigError ? 2 : 1;
}

function describe(error: unknown): string {
  if (error instanceof UsageError) return `${error.message}\nMore: hookferry-admin --help`;
  if (error instanceof ConfigError || error instanceof Failure) return error.message;
  if (error instanceof AppError && error.code === 'storage_unavailable') return describeOutage(error);
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function describeOutage({ cause }: AppError): string {
  return `Redis can't be reached (${reasonOf(cause)}). Set REDIS_URL to the Redis that the API uses.`;
}

// A name with several addresses fails with one error for all of them, which has a code and no message.
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.message || String((cause as NodeJS.ErrnoException).code);
}
