import { percentile } from '../report/percentile';
import type { Arrivals } from './receiver';

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
