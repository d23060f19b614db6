/**
 * Why no response came. `timeout`: it took longer than `timeoutMs`. `connection_failed`: no connection, or one that broke.
 * `aborted`: the caller's own signal ended the call.
 */
export type ConnectionErrorCode = 'timeout' | 'connection_failed' | 'aborted';

/** No response came. Whether the service got the request is not known, unless the cause says so. */
export class WebhooksConnectionError extends Error {
  override readonly name = 'WebhooksConnectionError';
  readonly code: ConnectionErrorCode;

  constructor(code: ConnectionErrorCode, message: string, cause: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** Errors of `fetch` in Node.js that mean that nothing was sent. Browsers do not say. */
const NOTHING_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Whether the request certainly did not reach the service. */
export function isCertainlyUnsent({ cause }: WebhooksConnectionError): boolean {
  return NOTHING_SENT.has(codeOf(cause) ?? codeOf(causeOf(cause)) ?? '');
}

/** The message of the cause, because `fetch failed` says nothing. */
export function describeCause(error: unknown): string {
  const cause = causeOf(error);
  const texts = [cause, error].flatMap((each) => [messageOf(each), codeOf(each)]);
  return texts.find((text) => text !== undefined && text !== '') ?? String(error);
}

const causeOf = (error: unknown) => memberOf(error, 'cause');
const messageOf = (error: unknown) => textOf(memberOf(error, 'message'));
const codeOf = (error: unknown) => textOf(memberOf(error, 'code'));

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** By its shape, because errors of another realm (a frame, a test runner) are not `instanceof Error` here. */
function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
