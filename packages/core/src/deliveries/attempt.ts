import { z } from 'zod';

/** How an attempt ended: a closed set, used in the log, the metrics and the record. */
export const attemptOutcomes = [
  'delivered',
  'http_1xx',
  'http_3xx',
  'http_4xx',
  'http_5xx',
  'blocked_address',
  'dns_error',
  'connect_refused',
  'connect_timeout',
  'connection_reset',
  'tls_error',
  'response_timeout',
  'protocol_error',
  'network_error',
] as const;

export const attemptOutcomeSchema = z.enum(attemptOutcomes);
export type AttemptOutcome = z.infer<typeof attemptOutcomeSchema>;

/** One request to the receiver and what became of it. */
export interface Attempt {
  /** 1, 2, … */
  readonly number: number;
  /** Milliseconds since the Unix epoch. */
  readonly startedAt: number;
  readonly durationMs: number;
  readonly outcome: AttemptOutcome;
  readonly responseStatus?: number;
  /** What went wrong, for people; decide by `outcome`. */
  readonly error?: string;
  /** The beginning of the response's body. */
  readonly responseBody?: string;
}
