import { AppError } from '@hookferry/core/platform/app-error';
import { NotConfirmedError } from '@hookferry/core/platform/redis-confirmation';
import { isRefusal, isUnavailable } from '@hookferry/core/platform/redis-errors';
import { fullVersion } from '@hookferry/core/platform/revision';
import { ConfigError, type Environment } from '@hookferry/core/platform/settings';
import { Command, CommanderError } from 'commander';
import {
  addCreateAccount,
  addDeleteAccount,
  addListAccounts,
  addPauseAccount,
  addResumeAccount,
} from './accounts';
import { addCapacity } from './capacity';
import { type Cli, Failure, type Output, UsageError } from './cli';
import { readCliConfig, readEgressConfig, readHistoryUrl } from './config';
import { withContext } from './context';
import { addCopyData } from './data';
import {
  addDropDeadLetters,
  addListDeadLetters,
  addRetryDeadLetters,
  addShowDeadLetter,
} from './dead-letters';
import { addDoctor } from './doctor';
import { addExplain } from './explain';
import { addListRefused, addMigrateHistory, addRetryRefused } from './history';
import { addCreateKey, addListKeys, addRevokeKey, addRotateKey } from './keys';
import { addListQueues, addPauseQueue, addResumeQueue } from './queues';
import { addRebuild } from './rebuild';
import { addReseal } from './reseal';

/** 0: done; 1: not possible; 2: the command line or a setting is wrong. */
export type ExitCode = 0 | 1 | 2;

/** Runs the command line. Never rejects. */
export async function runCli(
  args: readonly string[],
  environment: Environment,
  output: Output,
): Promise<ExitCode> {
  try {
    const cli: Cli = {
      output,
      egress: () => readEgressConfig(environment),
      historyUrl: () => requireHistoryUrl(environment),
      withContext: (action) => withContext(readCliConfig(environment), action, (text) => output.error(text)),
    };
    await createProgram(cli, fullVersion(environment.HOOKFERRY_REVISION)).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    return report(error, output);
  }
}

const NOTES = `
It connects to the Redis of the API, at REDIS_URL or REDIS_URL_FILE (default: the Redis of npm start in this
folder, while that runs; no other one). "explain" connects to nothing.
Exit codes: 0 done · 1 not possible · 2 the command line or a setting is wrong`;

/** Every command. */
function createProgram(cli: Cli, version: string): Command {
  const { output } = cli;
  const program = new Command('hookferry-admin')
    .description('Accounts, API keys, dead letters and the data of Hookferry; and what its words mean.')
    .version(version)
    .addHelpText('after', NOTES)
    .configureOutput({ writeOut: (text) => output.out(text), writeErr: (text) => output.error(text) })
    .exitOverride();

  const keys = program.command('keys').description('API keys, and the key that secrets are sealed under');
  addCreateKey(keys, cli);
  addListKeys(keys, cli);
  addRotateKey(keys, cli);
  addRevokeKey(keys, cli);
  addReseal(keys, cli);

  const accounts = program
    .command('accounts')
    .description('accounts, whose data is separate from each other');
  addCreateAccount(accounts, cli);
  addListAccounts(accounts, cli);
  addDeleteAccount(accounts, cli);
  addPauseAccount(accounts, cli);
  addResumeAccount(accounts, cli);

  const deadLetters = program.command('dead-letters').description('jobs that are invalid or failed for good');
  addListDeadLetters(deadLetters, cli);
  addShowDeadLetter(deadLetters, cli);
  addRetryDeadLetters(deadLetters, cli);
  addDropDeadLetters(deadLetters, cli);

  const queues = program.command('queues').description('the queues that workers take jobs from');
  addListQueues(queues, cli);
  addPauseQueue(queues, cli);
  addResumeQueue(queues, cli);

  const data = program.command('data').description('the data in Redis');
  addCopyData(data, cli);

  const history = program.command('history').description('the history in PostgreSQL');
  addMigrateHistory(history, cli);
  addListRefused(history, cli);
  addRetryRefused(history, cli);

  addRebuild(program, cli);
  addDoctor(program, cli);
  addExplain(program, cli);
  addCapacity(program, cli);
  return program;
}

function requireHistoryUrl(environment: Environment): string {
  const url = readHistoryUrl(environment);
  if (url === undefined) throw new UsageError('HISTORY_DATABASE_URL must be set.');
  return url;
}

function report(error: unknown, output: Output): ExitCode {
  // Commander has printed its message already. Help ends this way, too.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  output.error(`${describe(error)}\n`);
  return error instanceof UsageError || error instanceof ConfigError ? 2 : 1;
}

function describe(error: unknown): string {
  if (error instanceof UsageError) return `${error.message}\nMore: hookferry-admin --help`;
  if (error instanceof ConfigError || error instanceof Failure) return error.message;
  if (isUnavailable(error)) return describeOutage(error instanceof AppError ? error.cause : error);
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function describeOutage(cause: unknown): string {
  if (cause instanceof NotConfirmedError) {
    return `It was done, but a fail-over of Redis may undo it. ${cause.message} Once Redis and its replicas are back, look whether it is there, and run it again if not. If there are fewer replicas for good, set REDIS_CONFIRMED_BY to as many as there are.`;
  }
  if (isRefusal(cause)) {
    return `Redis refuses (${reasonOf(cause)}). If it takes no writes, see: hookferry-admin explain RedisRefusesWrites. Otherwise check REDIS_URL.`;
  }
  return `Redis can't be reached (${reasonOf(cause)}). Start it; or, if the API uses another one, set REDIS_URL to that.`;
}

// A name with several addresses fails with one error for all of them, which has a code and no message.
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.message || String((cause as NodeJS.ErrnoException).code);
}
