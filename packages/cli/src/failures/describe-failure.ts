import { WebhooksApiError, WebhooksConnectionError } from '@hookferry/client';
import { CommanderError } from 'commander';
import type { Environment } from '../cli';
import { adviceFor } from './advice';
import { CheckFailed } from './check-failed';
import { EXIT_CODES, type ExitCode } from './exit-codes';
import { Interrupted } from './interrupted';
import { UsageError } from './usage-error';

export interface Failure {
  readonly exitCode: ExitCode;
  /** For stderr: what happened, what to do, the request's id. Empty if it was said already. */
  readonly lines: readonly string[];
  /** The same for programs. Absent: there is nothing to say. */
  readonly document?: FailureDocument;
}

export interface FailureDocument {
  /** That of the API, or `check_failed`, `usage` or `unreachable`. */
  readonly code: string;
  readonly detail: string;
  readonly advice?: string;
  readonly status?: number;
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
  readonly request_id?: string;
}

/**
 * What to say about an error, and how the program ends. A fault of this program itself is thrown on.
 *
 * @param example how the command is used, if it is one.
 * @param hint what was meant, as a question.
 */
export function describeFailure(
  error: unknown,
  environment: Environment,
  example?: string,
  hint?: string,
): Failure {
  if (error instanceof Interrupted) return { exitCode: EXIT_CODES.interrupted, lines: [] };
  if (error instanceof CheckFailed) {
    if (error.message === '') return { exitCode: EXIT_CODES.checkFailed, lines: [] };
    return failureOf(EXIT_CODES.checkFailed, { code: 'check_failed', detail: error.message });
  }
  if (error instanceof UsageError) {
    return failureOf(EXIT_CODES.usage, { code: 'usage', detail: error.message, advice: error.advice });
  }
  if (error instanceof CommanderError)
    return describeWrongUsage(error, [hint, example && `Example: ${example}`]);
  if (error instanceof WebhooksApiError) return describeApiError(error, environment, hint);
  if (error instanceof WebhooksConnectionError) {
    const detail = `the API gave no response. ${error.message}`;
    const advice = 'To find out why: hookferry doctor';
    return failureOf(EXIT_CODES.unreachable, { code: 'unreachable', detail, advice });
  }
  throw error;
}

// Of the parser of the command line. Where a command lacks its subcommand, it has printed the help instead.
function describeWrongUsage(
  { code, message }: CommanderError,
  hints: readonly (string | undefined)[],
): Failure {
  if (code === 'commander.help') return { exitCode: EXIT_CODES.usage, lines: [] };
  const detail = message.replace(/^error: /, '').replace('\n', ' ');
  const advice = joined([...hints, 'For the commands and flags: add --help']);
  return failureOf(EXIT_CODES.usage, { code: 'usage', detail, ...(advice && { advice }) });
}

function joined(lines: readonly (string | undefined)[]): string | undefined {
  const said = lines.filter((line) => line !== undefined);
  return said.length === 0 ? undefined : said.join('\n');
}

function describeApiError(
  error: WebhooksApiError,
  environment: Environment,
  hint: string | undefined,
): Failure {
  const { status, code, detail, errors, requestId } = error;
  const advice = joined([hint, adviceFor(error, environment)]);
  return failureOf(exitCodeOf(status), {
    code,
    status,
    detail,
    errors,
    ...(advice === undefined ? {} : { advice }),
    ...(requestId === undefined ? {} : { request_id: requestId }),
  });
}

function failureOf(exitCode: ExitCode, document: FailureDocument): Failure {
  const { code, status, detail, errors = [], advice, request_id: requestId } = document;
  const lines = [
    `Error: ${detail}${status === undefined ? '' : ` (${status} ${code})`}`,
    ...errors.map((fault) => `  ${fault.pointer}: ${fault.detail}`),
    ...(advice === undefined ? [] : advice.split('\n')),
    ...(requestId === undefined ? [] : [`Request id: ${requestId}`]),
  ];
  return { exitCode, lines, document };
}

function exitCodeOf(status: number): ExitCode {
  if (status === 401 || status === 403) return EXIT_CODES.notAuthorised;
  return status >= 500 ? EXIT_CODES.unreachable : EXIT_CODES.refused;
}
