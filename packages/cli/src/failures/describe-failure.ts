import { WebhooksApiError, WebhooksConnectionError } from '@hookferry/client';
import { adviceFor } from './advice';
import { CheckFailed } from './check-failed';
import { EXIT_CODES, type ExitCode } from './exit-codes';
import { Interrupted } from './interrupted';
import { UsageError } from './usage-error';

export interface Failure {
  readonly exitCode: ExitCode;
  /** For stderr: what happened, what to do, the request's id. Empty if it was said already. */
  readonly lines: readonly string[];
}

/** What to say about an error, and how the program ends. A fault of this program itself is thrown on. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof CheckFailed) {
    return {
      exitCode: EXIT_CODES.checkFailed,
      lines: error.message === '' ? [] : [`Error: ${error.message}`],
    };
  }
  if (error instanceof Interrupted) return { exitCode: EXIT_CODES.interrupted, lines: [] };
  if (error instanceof UsageError) {
    return { exitCode: EXIT_CODES.usage, lines: [`Error: ${error.message}`, error.advice] };
  }
  if (error instanceof WebhooksApiError) return describeApiError(error);
  if (error instanceof WebhooksConnectionError) {
    return {
      exitCode: EXIT_CODES.unreachable,
      lines: [`Error: the API gave no response. ${error.message}`, 'To find out why: hookferry doctor'],
    };
  }
  throw error;
}

function describeApiError(error: WebhooksApiError): Failure {
  const faults = error.errors.map(({ pointer, detail }) => `  ${pointer}: ${detail}`);
  return {
    exitCode: exitCodeOf(error.status),
    lines: [
      `Error: ${error.detail} (${error.status} ${error.code})`,
      ...faults,
      adviceFor(error),
      ...(error.requestId === undefined ? [] : [`Request id: ${error.requestId}`]),
    ],
  };
}

function exitCodeOf(status: number): ExitCode {
  if (status === 401 || status === 403) return EXIT_CODES.notAuthorised;
  return status >= 500 ? EXIT_CODES.unreachable : EXIT_CODES.refused;
}
