/** What is published, found again where it is delivered, and how long it took. */
import { percentile } from '../report';

export const EVENT_TYPE = 'keyword.quick_win';

/** The event's data; its number is found again in what is delivered. */
export function dataOf(event: number) {
  return { keyword: `event ${event}`, position: 3, volume: 2400 };
}

/**
 * What is published of an event over HTTP.
 * @param webhookId of the one that gets it, instead of all that asked for its type.
 */
export function textOf(event: number, webhookId?: string, type = EVENT_TYPE): string {
  const aim = webhookId === undefined ? {} : { webhook_ids: [webhookId] };
  return JSON.stringify({ type, data: dataOf(event), ...aim });
}

/** Finds the number of each event of a request. */
export const EVENT_NUMBERS = /"keyword":"event (\d+)"/g;

/** The machine's monotonic clock, in microseconds: the same one in all of its processes. */
export function micros(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}

/** What came to a receiver: the events by their numbers, and when, in microseconds of `micros()`. */
export interface Arrivals {
  readonly events: readonly number[];
  readonly at: readonly number[];
}

export interface Latency {
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/** When each event came for the first time, by its number. */
export function firstArrivals({ events, at }: Arrivals): ReadonlyMap<number, number> {
  const first = new Map<number, number>();
  for (const [i, event] of events.entries()) if (!first.has(event)) first.set(event, at[i] ?? Number.NaN);
  return first;
}

export function summarise(latenciesMs: readonly number[]): Latency {
  return { p50: percentile(latenciesMs, 0.5), p99: percentile(latenciesMs, 0.99) };
}
