import { findDuplicates } from '../checks/find-duplicates';
import { faultKinds } from '../fault-kinds';
import type { FaultScene } from '../fault-scene';
import type { ReceivedRequest } from '../ledger';
import { Random } from '../random';
import type { FaultKind } from './fault-kind';
import { pairsOf } from './pair-faults';

const SEEDS = 300;

// The real kinds, which break nothing here.
const harmless = faultKinds.map(
  (kind, i): FaultKind => ({
    ...kind,
    inject: async () => ({ victim: 'nobody', startedAt: i, endedAt: i }),
  }),
);

async function pairsOfSeeds(name: string) {
  const kind = pairsOf(harmless).find((each) => each.name === name);
  if (!kind) throw new Error(`There is no ${name}.`);
  const strikes = await Promise.all(
    Array.from({ length: SEEDS }, async (_, seed) => {
      const scene = { random: new Random(seed) } as FaultScene;
      return [await kind.inject(scene)].flat();
    }),
  );
  return strikes.map((pair) =>
    pair.map(({ victim, mayRepeat }) => ({ name: victim.split(' ')[0], mayRepeat })),
  );
}

describe('pairs of faults', () => {
  it('are of two kinds, each with what it may cause itself, and in the end of all that may meet', async () => {
    const pairs = await pairsOfSeeds('pairs');
    const namedKinds = new Map(faultKinds.map(({ name, mayRepeat }) => [name, mayRepeat]));
    for (const pair of pairs) {
      expect(pair).toHaveLength(2);
      expect(pair[0]?.name).not.toBe(pair[1]?.name);
      for (const { name = '', mayRepeat } of pair) expect(mayRepeat).toBe(namedKinds.get(name));
    }
    const seen = new Set(pairs.flat().map(({ name }) => name));
    expect(seen.size).toBeGreaterThanOrEqual(25);
  });

  it('never break one part twice: nothing is started that another fault has just ended', async () => {
    const pairs = await pairsOfSeeds('pairs');
    const kills = /^(worker-(kill|restart|stop)|api-(kill|restart|stop)|redis-(outage|stop|torn))/;
    const parts = pairs.map((pair) =>
      pair.map(({ name = '' }) => kills.exec(name)?.[0].split('-')[0] ?? name),
    );
    for (const [one, other] of parts) expect(one).not.toBe(other);
  });

  it('strike PostgreSQL as well where there is a history', async () => {
    const pairs = await pairsOfSeeds('history-pairs');
    expect(pairs.some((pair) => pair.some(({ name }) => name?.startsWith('history-')))).toBe(true);
    const without = await pairsOfSeeds('pairs');
    expect(without.flat().some(({ name }) => name?.startsWith('history-'))).toBe(false);
  });

  it('explain a repetition by either of the two, and two of them by both', () => {
    const strike = (startedAt: number, mayRepeat: boolean) => ({
      kind: 'pairs',
      victim: 'nobody',
      startedAt,
      endedAt: startedAt + 1_000,
      mayRepeat,
    });
    const request = (arrivedAt: number): ReceivedRequest => ({
      endpoint: 'one',
      requestId: `r${arrivedAt}`,
      eventId: 'evt_1',
      marker: 'm1',
      type: 'keyword.quick_win',
      attempt: 1,
      arrivedAt,
      endedAt: arrivedAt + 10,
      status: 204,
      isVerified: true,
      bodyHash: '',
    });
    const isExplained = (second: boolean, times: readonly number[]) =>
      findDuplicates({
        requests: times.map(request),
        faults: [strike(10_000, true), strike(10_500, second)],
      }).every((duplicate) => duplicate.isExplained);
    expect(isExplained(false, [10_100, 20_000])).toBe(true);
    expect(isExplained(true, [10_100, 11_000, 20_000])).toBe(true);
    expect(isExplained(false, [10_100, 11_000, 20_000])).toBe(false);
  });
});
