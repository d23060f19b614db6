import { accountColumns, dayRangeOf, linesOf, sampleColumns, shardLines } from './day-columns';
import type { HeavyAccount, Sample } from './use-last-day';

const STEP_MS = 300_000;
const NOW = Date.parse('2026-11-27T10:02:00.000Z');

const sampleAt = (at: string, change: Partial<Sample> = {}): Sample => ({
  sampled_at: `2026-11-27T${at}.000Z`,
  shards: [{ waiting: 1, delayed: 0, held: 0 }],
  oldest_waiting_seconds: 0,
  workers: 1,
  slots_in_use: 0,
  slots_allowed: 16,
  attempts_per_second: 0,
  ...change,
});

describe('the part of the last day', () => {
  it('is all of it, unless a part within it is asked for', () => {
    const day = { since: NOW - 86_400_000, until: NOW };
    const rangeOf = (query: string) => dayRangeOf(new URLSearchParams(query), NOW);
    expect(rangeOf('')).toEqual(day);
    expect(rangeOf('since=nonsense&until=2026-11-27T09:00:00Z')).toEqual(day);
    expect(rangeOf('since=2026-11-20T08:00:00Z&until=2026-11-20T09:00:00Z')).toEqual(day);
    expect(rangeOf('since=2026-11-27T09:00:00Z&until=2026-11-28T09:00:00Z')).toEqual({
      since: Date.parse('2026-11-27T09:00:00Z'),
      until: NOW,
    });
  });
});

describe('samples', () => {
  const range = { since: NOW - 2 * STEP_MS, until: NOW };

  it('are points of a line, with a gap where none was taken; the one of now comes last', () => {
    const samples = [sampleAt('09:50:00'), sampleAt('10:00:01'), sampleAt('10:02:00', { workers: 3 })];
    const { starts, series } = sampleColumns(
      samples,
      STEP_MS,
      range,
      linesOf([['Workers', (sample) => sample.workers]]),
    );
    expect(starts.map((start) => new Date(start).toISOString().slice(11, 16))).toEqual([
      '09:50',
      '09:55',
      '10:00',
    ]);
    expect(series[0]?.values).toEqual([1, null, 3]);
  });

  it.each([
    [1, ['Shard 0']],
    [6, ['Shard 0', 'Shard 1', 'Shard 2', 'Shard 3', 'Shard 4', 'Shard 5']],
    [8, ['Shard 0', 'Shard 1', 'Shard 2', 'Shard 3', 'Shard 4', 'Shards 5 to 7']],
  ])('of %d shards have no more lines than can be told apart', (count, labels) => {
    const shards = Array.from({ length: count }, (_, i) => ({ waiting: i, delayed: 0, held: 0 }));
    const samples = [sampleAt('10:00:00', { shards })];
    const { series } = sampleColumns(samples, STEP_MS, range, shardLines(samples, 'waiting'));
    expect(series.map(({ label }) => label)).toEqual(labels);
    const sum = series.reduce((all, { values }) => all + (values.at(-1) ?? 0), 0);
    expect(sum).toBe(shards.reduce((all, { waiting }) => all + waiting, 0));
  });
});

it('draws the five accounts with most apart, each leading to its page, and the others together', () => {
  const accounts = Array.from({ length: 7 }, (_, i): HeavyAccount => {
    const load = { events: 10 - i, bytes: 1, transform_ms: 0 };
    return { account_id: `a${i}`, ...load, hours: [{ starts_at: '2026-11-27T09:00:00.000Z', ...load }] };
  });
  const { series } = accountColumns(accounts, 'events', { since: NOW - 3_600_000, until: NOW });
  expect(series.map(({ label, values }) => [label, values])).toEqual([
    ['a0', [10, 0]],
    ['a1', [9, 0]],
    ['a2', [8, 0]],
    ['a3', [7, 0]],
    ['a4', [6, 0]],
    ['The next 2', [9, 0]],
  ]);
});
