import { select, t } from '@lingui/core/macro';
import type { Attempt, DeliveryWithAttempts, Hold } from '../../api/delivery-queries';
import { formatMs, isolated } from '../../language/formats';
import { holdWords } from '../deliveries/hold-words';
import { responseOf } from '../deliveries/response-of';

/** A step of a delivery, past or future. */
export interface Step {
  readonly kind: 'accepted' | 'delivered' | 'failed' | 'held' | 'due';
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** The duration; 0 for a moment. */
  readonly lengthMs: number;
  readonly text: string;
}

/** Milliseconds since the Unix epoch; `to` is later. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** From the first to the end of the last one. */
export function rangeOf(steps: readonly Step[]): Range {
  const from = Math.min(...steps.map(({ at }) => at));
  return { from, to: Math.max(...steps.map(({ at, lengthMs }) => at + lengthMs), from + 1) };
}

type Told = Pick<DeliveryWithAttempts, 'created_at' | 'status' | 'hold' | 'next_attempt_at'> & {
  readonly attempts: readonly Attempt[];
};

/**
 * In the order of time: its acceptance, each attempt and what held it before, what holds it now, and the attempt to
 * come, which has the number `next`.
 */
export function stepsOf(delivery: Told, now: number, next = delivery.attempts.length + 1): readonly Step[] {
  const { created_at: acceptedAt, attempts, status, hold, next_attempt_at: nextAt } = delivery;
  const accepted: Step = { kind: 'accepted', at: Date.parse(acceptedAt), lengthMs: 0, text: t`Accepted` };
  const held = status === 'held' ? [heldStep(hold, Math.max(now, accepted.at))] : [];
  const due = status === 'held' ? (hold?.until ?? null) : nextAt;
  const toCome: readonly Step[] =
    due === null || (status !== 'pending' && status !== 'held')
      ? []
      : [{ kind: 'due', at: Date.parse(due), lengthMs: 0, text: t`Attempt ${next} is due` }];
  const past = attempts.flatMap((attempt) => [...pastHoldsOf(attempt), stepOf(attempt)]);
  return [accepted, ...past, ...held, ...toCome].toSorted((a, b) => a.at - b.at);
}

/** From when it was held until now, as far as that is known. */
function heldStep(hold: Told['hold'], now: number): Step {
  const at = Math.min(hold?.since ? Date.parse(hold.since) : now, now);
  const why = whyHeld(hold);
  return { kind: 'held', at, lengthMs: now - at, text: t`Held: ${why}` };
}

/** @param hold absent: the service does not tell what holds it. */
function whyHeld(hold: Hold | null | undefined): string {
  return hold ? holdWords[hold.reason].its : t`its webhook can’t take it just now`;
}

function pastHoldsOf({ holds: all }: Attempt): readonly Step[] {
  return all.map(({ reason, since, until }) => {
    const at = Date.parse(since);
    const lengthMs = Date.parse(until) - at;
    const [length, why] = [formatMs(lengthMs), holdWords[reason].before];
    return { kind: 'held', at, lengthMs, text: t`Held for ${length}: ${why}` };
  });
}

function stepOf({
  number,
  started_at: at,
  duration_ms: lengthMs,
  outcome,
  response_status: status,
  trigger,
}: Attempt): Step {
  const response = isolated(responseOf({ last_outcome: outcome, last_response_status: status }));
  const length = isolated(formatMs(lengthMs));
  const text = select(trigger, {
    manual: `Attempt ${number}, by hand: ${response}, ${length}`,
    replay: `Attempt ${number}, by replay: ${response}, ${length}`,
    test: `Attempt ${number}, by test: ${response}, ${length}`,
    other: `Attempt ${number}: ${response}, ${length}`,
  });
  return { kind: outcome === 'delivered' ? 'delivered' : 'failed', at: Date.parse(at), lengthMs, text };
}

/** One row of the comparison of two attempts. */
export interface Difference {
  readonly name: string;
  readonly values: readonly [string, string];
}

/** Durations are never quite the same: nobody looks for less than this. */
const SAME_WITHIN_MS = 1;

/** Where two attempts differ; the rest is left out. */
export function differencesOf(first: Attempt, second: Attempt): readonly Difference[] {
  const texts = (name: string, read: (attempt: Attempt) => string | null): readonly Difference[] => {
    const values = [read(first) ?? '–', read(second) ?? '–'] as const;
    return values[0] === values[1] ? [] : [{ name, values }];
  };
  const times = (
    name: string,
    read: (timings: Attempt['timings']) => number | null,
  ): readonly Difference[] => {
    const [a, b] = [read(first.timings), read(second.timings)];
    const isSame = a === b || (a !== null && b !== null && Math.abs(a - b) < SAME_WITHIN_MS);
    const textOf = (ms: number | null) => (ms === null ? '–' : formatMs(ms));
    return isSame ? [] : [{ name, values: [textOf(a), textOf(b)] }];
  };
  const headers = [
    ...new Set([first, second].flatMap((one) => Object.keys(one.response_headers ?? {}))),
  ].toSorted();
  return [
    texts(
      t`Response`,
      (one) => responseOf({ last_outcome: one.outcome, last_response_status: one.response_status }) ?? null,
    ),
    texts(t`Error`, (one) => one.error),
    texts(t`Trigger`, (one) => one.trigger),
    texts(t`Worker`, (one) => one.worker),
    texts(t`Address`, (one) => one.remote_address),
    times('DNS', (timings) => timings.dns_ms),
    times(t`Connect`, (timings) => timings.connect_ms),
    times('TLS', (timings) => timings.tls_ms),
    times(t`First byte`, (timings) => timings.first_byte_ms),
    times(t`In all`, (timings) => timings.total_ms),
    ...headers.map((name) => texts(t`Header ${name}`, (one) => one.response_headers?.[name] ?? null)),
    texts(t`Body`, (one) => one.response_body),
  ].flat();
}
