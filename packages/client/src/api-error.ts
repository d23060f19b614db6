import type { components } from './schema';

/** A fault of the request. `pointer`: a JSON Pointer into the body, `?/name` for a query parameter, or a header's name. */
export type Fault = components['schemas']['Fault'];

/**
 * The kind of error, for programs. A service newer than this client may send other codes.
 * `unexpected_response` is the client's own: the response did not come from the API, but from a proxy, for example.
 */
export type ApiErrorCode = components['schemas']['ErrorCode'] | 'unexpected_response' | (string & {});

export interface ApiErrorFacts {
  readonly status: number;
  readonly code: ApiErrorCode;
  readonly detail: string;
  readonly errors?: readonly Fault[];
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
}

/** The service refused a request. Decide by `code`; `message` and `detail` are for people. */
export class WebhooksApiError extends Error {
  override readonly name = 'WebhooksApiError';
  /** The HTTP status. */
  readonly status: number;
  readonly code: ApiErrorCode;
  /** What is wrong, for people. */
  readonly detail: string;
  /** The faults of the request, each with its place. Empty if the error is about no member. */
  readonly errors: readonly Fault[];
  /** The id of the request, which the service's log has too. */
  readonly requestId: string | undefined;
  /** The seconds after which to try again, if the service said so. */
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
