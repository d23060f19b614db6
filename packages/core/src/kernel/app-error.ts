import { z } from 'zod';

/**
 * Everything that can be refused or go wrong in our own code, by its stable code. Callers and clients decide
 * by the code, never by the message. An error's HTTP status is in the API's `http/problem.ts`.
 */
export type ErrorCode =
  | 'malformed_json'
  | 'invalid_request'
  | 'unauthenticated'
  | 'insufficient_scope'
  | 'operator_only'
  | 'route_not_found'
  | 'method_not_allowed'
  | 'not_found'
  | 'conflict'
  | 'event_id_conflict'
  | 'payload_erased'
  | 'idempotency_key_reused'
  | 'request_in_progress'
  | 'answer_not_kept'
  | 'limit_reached'
  | 'last_admin_key'
  | 'quota_exceeded'
  | 'replays_running'
  | 'precondition_failed'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'malformed_request'
  | 'request_timeout'
  | 'uri_too_long'
  | 'headers_too_large'
  | 'rate_limited'
  | 'storage_unavailable'
  | 'secret_unreadable'
  | 'internal_error';

/** One fault in a request: `pointer` is a JSON Pointer into the body, or names a query or path parameter. */
export const faultSchema = z.object({ pointer: z.string(), detail: z.string() }).meta({ id: 'Fault' });
export type Fault = Readonly<z.infer<typeof faultSchema>>;

export interface AppErrorOptions {
  readonly faults?: readonly Fault[];
  /** When it makes sense to try again, counted from now. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

export class AppError extends Error {
  override readonly name = 'AppError';
  readonly faults: readonly Fault[];
  readonly retryAfterMs: number | undefined;

  constructor(
    readonly code: ErrorCode,
    /** Says what is wrong and, where there is something to do, what to do about it. Never holds a secret. */
    detail: string,
    options: AppErrorOptions = {},
  ) {
    super(detail, { cause: options.cause });
    this.faults = options.faults ?? [];
    this.retryAfterMs = options.retryAfterMs;
  }
}
