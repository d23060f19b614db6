import slotOf from 'cluster-key-slot';
import { MAX_SHARDS } from '../platform/settings';
import { createQueueLayout } from './queues';

const HASH_SLOTS = 16_384;

const slotsOf = (count: number) =>
  createQueueLayout(count, '{bull}').shards.map(({ prefix }) => slotOf(prefix));

it('finds the slots that Redis finds', () => {
  expect(['123456789', 'bull', ''].map(slotOf)).toEqual([0x31c3, 9_263, 0]);
});

it('keeps the prefix that producers know as the only shard, and as the first of several', () => {
  for (const count of [1, 2, MAX_SHARDS]) {
    const { shards } = createQueueLayout(count, 'bull');
    expect(shards).toHaveLength(count);
    expect(shards[0]).toEqual({ prefix: 'bull' });
    expect(new Set(shards.map(({ prefix }) => prefix)).size).toBe(count);
  }
  expect(createQueueLayout(1, 'bull').shardOf('wh_1')).toEqual({ prefix: 'bull' });
});

it('gives masters with equal ranges equal numbers of shards, if it can be', () => {
  for (const masters of [2, 3, 4, 5, 6, 8, 12]) {
    for (const factor of [1, 2, 3, 5]) {
      const shares = Array<number>(masters).fill(0);
      for (const slot of slotsOf(masters * factor)) {
        const master = Math.floor((slot * masters) / HASH_SLOTS);
        shares[master] = (shares[master] ?? 0) + 1;
      }
      expect(shares).toEqual(Array<number>(masters).fill(factor));
    }
  }
});

it('spreads ids evenly, even if they hardly differ', () => {
  const { shards, shardOf } = createQueueLayout(16, 'bull');
  for (const stem of ['wh_', 'account-', '']) {
    const counts = new Map(shards.map((shard) => [shard, 0]));
    for (let i = 0; i < 16_000; i += 1) {
      const shard = shardOf(`${stem}${i}`);
      counts.set(shard, (counts.get(shard) ?? 0) + 1);
    }
    expect(Math.min(...counts.values())).toBeGreaterThan(850);
    expect(Math.max(...counts.values())).toBeLessThan(1_150);
  }
});

it('moves no more than it must when there is a multiple of shards', () => {
  const ids = Array.from({ length: 4_000 }, (_, i) => `wh_${i}`);
  for (const [few, many] of [
    [1, 4],
    [3, 6],
    [4, 12],
  ] as const) {
    const [before, after] = [createQueueLayout(few, 'bull'), createQueueLayout(many, 'bull')];
    const kept = new Set(after.shards.map(({ prefix }) => prefix));
    expect(before.shards.every(({ prefix }) => kept.has(prefix))).toBe(true);
    const stayed = ids.filter((id) => before.shardOf(id).prefix === after.shardOf(id).prefix);
    expect(stayed.length / ids.length).toBeCloseTo(few / many, 1);
  }
});
