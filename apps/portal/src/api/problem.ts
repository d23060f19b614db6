import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';

export type ProblemDetails = components['schemas']['Problem'];
export type ValidationError = components['schemas']['Fault'];

/** The problem in a refused request's response, or the reason why no response came. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';

  constructor(
    readonly title: string,
    readonly detail: string,
    /** The HTTP status; 0: no response came. */
    readonly status: number,
    readonly code: ProblemDetails['code'] | 'unreachable' | 'unknown',
    readonly requestId?: string,
    readonly validationErrors: readonly ValidationError[] = [],
    options?: ErrorOptions,
    /** Not before then: RFC 3339. Absent: the service does not say. */
    readonly retryAt?: string,
  ) {
    super(detail, options);
  }

  /** True if the same request may succeed a moment later. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }

  /** True as long as the service wants to be asked nothing. */
  get isToWait(): boolean {
    return this.retryAt !== undefined && new Date(this.retryAt) > new Date();
  }
}

/** @param body of a response that is no success: a problem, or whatever a proxy in between wrote */
export function problemOf(response: Response, body: unknown): ProblemError {
  if (!isProblem(body)) {
    const { status } = response;
    const detail = t`The service responded with the status ${status}, without a reason.`;
    return new ProblemError(t`The request failed`, detail, status, 'unknown');
  }
  const { title, detail, code, request_id: requestId, errors } = body;
  const retryAt = retryTimeOf(response.headers.get('retry-after'));
  return new ProblemError(title, detail, response.status, code, requestId, errors, undefined, retryAt);
}

/** @param seconds as the API writes `Retry-After` */
function retryTimeOf(seconds: string | null): string | undefined {
  if (seconds === null || !/^\d{1,6}$/.test(seconds)) return undefined;
  return new Date(new Date().getTime() + Number(seconds) * 1_000).toISOString();
}

export function unreachable(cause: unknown): ProblemError {
  const detail = t`There was no response. Check your connection.`;
  return new ProblemError(t`The service can’t be reached`, detail, 0, 'unreachable', undefined, [], {
    cause,
  });
}

function isProblem(body: unknown): body is ProblemDetails {
  return typeof body === 'object' && body !== null && 'title' in body && 'detail' in body && 'code' in body;
}
