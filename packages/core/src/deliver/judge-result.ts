import type { AttemptOutcome } from '../domain/attempt';
import type { SentResult } from '../domain/transport';

/**
 * What an attempt's result means. Delivered is 200 to 299 and nothing else: a redirect is not followed, an
 * informational answer is not an acceptance.
 */
export function judgeResult(result: SentResult): AttemptOutcome {
  if (result.kind === 'failed') return result.reason;
  const { status } = result;
  if (status >= 200 && status <= 299) return 'delivered';
  if (status >= 100 && status <= 199) return 'http_1xx';
  if (status >= 300 && status <= 399) return 'http_3xx';
  if (status >= 400 && status <= 499) return 'http_4xx';
  if (status >= 500 && status <= 599) return 'http_5xx';
  return 'protocol_error';
}

/** What a receiver wishes, beside what the status says. */
export interface ReceiverWish {
  /** Not to be sent this delivery again. */
  readonly aborts: boolean;
  /** Not to be sent anything any more: by 410, or by asking for it. */
  readonly disabledBy: 'gone' | 'receiver' | undefined;
}

const NOTHING: ReceiverWish = { aborts: false, disabledBy: undefined };
const GONE = 410;

/**
 * Reads a response's `webhook-delivery`: a list of words, of which `abort` and `disable` mean something. What was
 * accepted can't be aborted.
 */
export function readReceiverWish(result: SentResult, wasAccepted: boolean): ReceiverWish {
  if (result.kind !== 'responded') return NOTHING;
  const { status, wish } = result;
  if (wish === undefined) return status === GONE ? { aborts: false, disabledBy: 'gone' } : NOTHING;
  const words = wish.split(',').map((word) => word.trim().toLowerCase());
  return {
    aborts: !wasAccepted && words.includes('abort'),
    disabledBy: words.includes('disable') ? 'receiver' : status === GONE ? 'gone' : undefined,
  };
}

/** Longer waits are cut to this: a receiver can slow us down, not park an event for a year. */
export const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/**
 * The wait that a `Retry-After` header asks for (RFC 9110: seconds, or an HTTP date), in milliseconds, at most
 * 24 hours. 0 when there is none, when it can't be understood, or when its time has passed.
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number {
  if (header === undefined) return 0;
  const text = header.trim();
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(httpDate(text)) - nowMs;
  return Number.isNaN(waitMs) ? 0 : Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS);
}

// Date.parse takes nearly anything for a date ("-5" is the year 2001); an HTTP date starts with a weekday. The
// form of C's asctime ends with the year and means GMT, which Date.parse would take for local time.
function httpDate(text: string): string {
  return /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text) ? text.replace(/ \d{4}$/, '$& GMT') : '';
}
