import { type ModelLane, openModelLane } from '../../testing/one-job-model/model-lane';
import { type Played, playInterleaving } from '../../testing/one-job-model/play-interleaving';

/*
 * The protocol of `spec/one-job-for-life.ts`, played by the real code on the real Redis and BullMQ: deliver,
 * fan-out, looks and enabling stand still at each of their steps while others go on, crash, or lose their
 * locks.
 *
 * MODEL_RUNS=20000 MODEL_SEED=7 npm run test:one -- one-job.model MODEL_ONLY=7:1234 plays one of them again,
 * and prints it.
 */
const RUNS = Number(process.env.MODEL_RUNS ?? 100);
const SEED = Number(process.env.MODEL_SEED ?? Date.now() % 1_000_000);
const LANES = 6;
const MS_PER_RUN = 150;
// On a machine with more to do than it can.
const SLOWEST_MS = 240_000;

// So many that no two runs of a test have one in common.
const SEED_STRIDE = 1_000_003;

interface Failure {
  readonly again: string;
  readonly violations: readonly string[];
  readonly trace: readonly string[];
}

let lanes: readonly ModelLane[];
beforeAll(async () => {
  lanes = await Promise.all(Array.from({ length: LANES }, () => openModelLane()));
});
afterAll(async () => {
  await Promise.all(lanes.map((lane) => lane.close()));
});

async function playAll(seed: number, indexes: readonly number[]) {
  const states = new Set<string>();
  const sightings = new Map<string, number>();
  const failures: Failure[] = [];
  let played = 0;

  function note(index: number, { states: seen, sightings: sighted, violations, trace }: Played): void {
    played += 1;
    for (const state of seen) states.add(state);
    for (const [name, count] of sighted) sightings.set(name, (sightings.get(name) ?? 0) + count);
    if (violations.length > 0) failures.push({ again: `MODEL_ONLY=${seed}:${index}`, violations, trace });
  }

  const left = indexes.values();
  await Promise.all(
    lanes.map(async (lane) => {
      // A lane on which something went wrong has its remains.
      for (const index of left) {
        const result = await playInterleaving(lane, seed * SEED_STRIDE + index);
        note(index, result);
        if (result.violations.length > 0) return;
      }
    }),
  );
  return { played, states, sightings, failures };
}

function rangeOf(only: string | undefined) {
  const [seed = SEED, index] = (only ?? '').split(':').filter(Boolean).map(Number);
  return { seed, indexes: index === undefined ? Array.from({ length: RUNS }, (_, i) => i) : [index] };
}

it(
  'keeps each acknowledged delivery, in one place, and brings it to its end, whatever comes between any two steps',
  async () => {
    const { seed, indexes } = rangeOf(process.env.MODEL_ONLY);
    const { played, states, sightings, failures } = await playAll(seed, indexes);
    process.stdout.write(
      `one job, for real: seed ${seed}, ${played} interleavings, ${states.size} states; ` +
        `${[...sightings].map(([name, count]) => `${name} ${count}`).join(', ')}\n`,
    );
    expect(failures).toEqual([]);
    if (indexes.length < 1_000) return;
    // What it was played for.
    expect([...sightings.keys()]).toEqual(
      expect.arrayContaining([
        'a request',
        'a delivery that is held',
        'a delivery that is released',
        'a delivery that is put off for a retry',
        'two requests in flight',
        'a retry that is due',
        'a held delivery that is due',
        'a delivery that moves',
        'a delivery that is sent again',
      ]),
    );
  },
  Math.max(RUNS * MS_PER_RUN, SLOWEST_MS),
);
