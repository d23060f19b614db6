import type { Attempt } from '../domain/attempt';
import type { FailedAttempt } from '../endpoints/health/attempt-tally';
import { uniqueEventId } from './unique-ids';

/** A first attempt with a 500 response, unless `change` says otherwise. */
export function buildAttempt(change: Partial<Attempt> = {}): Attempt {
  return {
    number: 1,
    startedAt: 1_700_000_000_500,
    durationMs: 40,
    outcome: 'http_5xx',
    responseStatus: 500,
    ...change,
  };
}

/** One that was delivered. */
export function buildAcceptedAttempt(change: Partial<Attempt> = {}): Attempt {
  return buildAttempt({ outcome: 'delivered', responseStatus: 204, ...change });
}

/** An attempt that its receiver responded to with 500. */
export function buildFailedAttempt(changes: Partial<FailedAttempt> = {}): FailedAttempt {
  return { eventId: uniqueEventId(), number: 1, outcome: 'http_5xx', status: 500, ...changes };
}
