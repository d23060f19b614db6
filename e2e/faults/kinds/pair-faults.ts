import { setTimeout as wait } from 'node:timers/promises';
import type { FaultScene } from '../fault-scene';
import { Random } from '../random';
import type { FaultKind, Strike } from './fault-kind';
import { historyObstacle } from './history-faults';

/** What a fault breaks. Two faults can be broken and mended at once where they share none of these. */
type Target =
  | 'worker'
  | "worker's connections"
  | 'api'
  | "api's connections"
  | 'Redis'
  | "Redis' memory"
  | "Redis' clients"
  | "Redis' scripts"
  | 'receivers'
  | 'PostgreSQL'
  | "PostgreSQL's connections";

/** The kinds that may come in pairs. A new kind is added here, with what it breaks. */
const targets: Readonly<Record<string, readonly Target[]>> = {
  'worker-kill': ['worker'],
  'worker-restart': ['worker'],
  'worker-stop-2s': ['worker'],
  'worker-stop-10s': ['worker'],
  'worker-stop-25s': ['worker'],
  'worker-cut': ["worker's connections"],
  'worker-stall': ["worker's connections"],
  'worker-half-open': ["worker's connections"],
  // Such a process says so, and is ready again, by what Redis tells it.
  'worker-clock-ahead': ['worker', "worker's connections", 'Redis', "Redis' memory", "Redis' clients"],
  'worker-clock-behind': ['worker', "worker's connections", 'Redis', "Redis' memory", "Redis' clients"],
  'api-kill': ['api'],
  'api-restart': ['api'],
  'api-stop-2s': ['api'],
  'api-stop-10s': ['api'],
  'api-cut': ["api's connections"],
  'api-stall': ["api's connections"],
  'api-half-open': ["api's connections"],
  'api-clock-ahead': ['api', "api's connections", 'Redis', "Redis' memory", "Redis' clients"],
  'api-clock-behind': ['api', "api's connections", 'Redis', "Redis' memory", "Redis' clients"],
  'redis-stop-2s': ['Redis'],
  'redis-outage-1s': ['Redis'],
  'redis-outage-7s': ['Redis'],
  'redis-torn-file': ['Redis'],
  'redis-out-of-memory': ["Redis' memory"],
  'redis-client-kill': ["Redis' clients"],
  'redis-client-pause': ["Redis' clients"],
  'redis-script-flush': ["Redis' scripts"],
  'receiver-reset': ['receivers'],
  'receiver-stall': ['receivers'],
  'history-kill': ['PostgreSQL'],
  'history-stall': ['PostgreSQL'],
  'history-cut': ["PostgreSQL's connections"],
};

// The second one strikes within this: while the first one lasts, or while its victim comes back.
const SECOND_WITHIN_MS = 1_500;

/** Two of these kinds at once: the seed says which. */
export function pairsOf(kinds: readonly FaultKind[]): readonly FaultKind[] {
  const pairable = kinds.filter(({ name }) => name in targets);
  const others = pairable.filter(({ needsHistory }) => needsHistory !== true);
  const pairs: readonly FaultKind[] = [
    {
      name: 'pairs',
      what: 'two different faults at once, which the seed chooses',
      mayRepeat: true,
      usualCount: 40,
      inject: async (scene) => await injectTwo(scene, others, others),
    },
    {
      name: 'history-pairs',
      what: 'the same with a history: one of the two may strike PostgreSQL',
      mayRepeat: true,
      usualCount: 20,
      needsHistory: true,
      obstacle: async () => historyObstacle(),
      inject: async (scene) => await injectTwo(scene, pairable, others),
    },
  ];
  return pairs;
}

/** @returns the strikes of both, each with what its own fault may cause: either explains what was sent again. */
async function injectTwo(
  scene: FaultScene,
  firstOf: readonly FaultKind[],
  secondOf: readonly FaultKind[],
): Promise<readonly Strike[]> {
  const { random } = scene;
  const one = random.pick(firstOf);
  const other = random.pick(secondOf.filter((kind) => !sharesTarget(kind, one)));
  const [first, second] = random.shuffle([one, other]) as [FaultKind, FaultKind];
  // Each has a sequence of its own: how many numbers the other one takes depends on the moment.
  const strike = async (kind: FaultKind, seed: number) => {
    const strikes = [await kind.inject({ ...scene, random: new Random(seed) })].flat();
    return strikes.map((each) => ({
      ...each,
      victim: `${kind.name} of ${each.victim}`,
      mayRepeat: kind.mayRepeat,
    }));
  };
  const [firstSeed, secondSeed] = [random.between(0, 999_999), random.between(0, 999_999)];
  const afterMs = random.between(0, SECOND_WITHIN_MS);
  const both = [strike(first, firstSeed), wait(afterMs).then(() => strike(second, secondSeed))];
  // When one fails, the other one still puts right what it broke: nothing of it is to run on when this is over.
  await Promise.allSettled(both);
  const strikes = await Promise.all(both);
  return strikes.flat().sort((a, b) => a.startedAt - b.startedAt);
}

function sharesTarget(kind: FaultKind, other: FaultKind): boolean {
  return (targets[kind.name] ?? []).some((target) => targets[other.name]?.includes(target));
}
