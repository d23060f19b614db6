import { describeCause, WebhooksConnectionError } from './connection-error';

export interface Deadline {
  /** Method and path, for the message. */
  readonly request: string;
  readonly timeoutMs: number;
  /** The caller's own. */
  readonly signal: AbortSignal;
}

/**
 * Resolves with the result of `work`, unless the time is over or the caller's signal aborts first. Then the signal that
 * `work` was given aborts, and `work` is not waited for.
 *
 * @throws WebhooksConnectionError for every failure
 */
export async function withDeadline<T>(
  { request, timeoutMs, signal }: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (signal.aborted) throw abortedError(request, signal);
  const controller = new AbortController();
  let giveUp: (error: WebhooksConnectionError) => void = () => undefined;
  const interruption = new Promise<never>((_resolve, reject) => {
    giveUp = (error) => {
      reject(error);
      controller.abort(error);
    };
  });
  const onAbort = () => giveUp(abortedError(request, signal));
  const timer = setTimeout(() => giveUp(timeoutError(request, timeoutMs)), timeoutMs);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([interruption, attempt(request, controller.signal, work)]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

/** Waits, unless the caller's signal aborts first. */
export async function waitFor(delayMs: number, { request, signal }: Omit<Deadline, 'timeoutMs'>) {
  if (signal.aborted) throw abortedError(request, signal);
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(abortedError(request, signal));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, delayMs);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

async function attempt<T>(
  request: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await work(signal);
  } catch (error) {
    throw new WebhooksConnectionError(
      'connection_failed',
      `${request}: the connection failed: ${describeCause(error)}`,
      error,
    );
  }
}

function abortedError(request: string, { reason }: AbortSignal): WebhooksConnectionError {
  return new WebhooksConnectionError('aborted', `${request}: aborted by the caller's signal`, reason);
}

function timeoutError(request: string, timeoutMs: number): WebhooksConnectionError {
  return new WebhooksConnectionError('timeout', `${request}: no response within ${timeoutMs} ms`, undefined);
}
