import type { components } from './schema';

/** A fault of the request. `pointer`: a JSON Pointer into the body, `?/name` for a query parameter, or a header's name. */
export type Fault = components['schemas']['Fault'];

/**
 * What went wrong, for programs. A service newer than this client may send others.
 * `unexpected_answer` is the client's own: the answer was none of the API's, but that of a proxy in between, say.
 */
export type ApiErrorCode = components['schemas']['ErrorCode'] | 'unexpected_answer' | (string & {});

export interface ApiErrorFacts {
  readonly status: number;
  readonly code: ApiErrorCode;
  readonly detail: string;
  readonly errors?: readonly Fault[];
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
}

/** The service answered that it did not do what was asked. Decide by `code`; `message` and `detail` are for people. */
export class WebhooksApiError extends Error {
  override readonly name = 'WebhooksApiError';
  /** The HTTP status. */
  readonly status: number;
  readonly code: ApiErrorCode;
  /** What is wrong, for people. */
  readonly detail: string;
  /** What is wrong where in the request; empty when nothing in particular is. */
  readonly errors: readonly Fault[];
  /** Leads to the request in the service's log. */
  readonly requestId: string | undefined;
  /** Seconds until it makes sense to ask again, if the service said so. */
  readonly retryAfterSeconds: number | undefined;

  /** @param request method and path, for the message */
  constructor(request: string, facts: ApiErrorFacts) {
    super(describe(request, facts));
    this.status = facts.status;
    this.code = facts.code;
    this.detail = facts.detail;
    this.errors = facts.errors ?? [];
    this.requestId = facts.requestId;
    this.retryAfterSeconds = facts.retryAfterSeconds;
  }
}

function describe(request: string, { status, code, detail, errors = [], requestId }: ApiErrorFacts): string {
  const faults = errors.map((fault) => ` ${fault.pointer}: ${fault.detail}.`).join('');
  const id = requestId === undefined ? '' : ` (request ${requestId})`;
  return `${request}: ${status} ${code}: ${detail}${faults}${id}`;
}
