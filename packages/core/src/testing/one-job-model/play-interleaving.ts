import type { Endpoint } from '../../domain/endpoint';
import type { SendResult } from '../../domain/transport';
import { createSeededRandom } from '../seeded-random';
import { ACCEPTED, type Command, commandsFor, REFUSED } from './model-commands';
import { isAtEnd, keyOf, violationsOf } from './model-invariants';
import type { ModelLane } from './model-lane';
import { type ModelRun, SENDING } from './model-run';
import { ModelScene } from './model-scene';

export interface Played {
  /** The steps that happened, in their order. */
  readonly trace: readonly string[];
  readonly violations: readonly string[];
  /** The states that it came through. */
  readonly states: ReadonlySet<string>;
  readonly sightings: ReadonlyMap<string, number>;
}

const MIN_COMMANDS = 6;
const MAX_COMMANDS = 22;
const STRICT_SHARE = 0.2;
const GROUP_SHARE = 0.2;
const ONE_DELIVERY_SHARE = 0.5;
// Most failures begin with a held delivery.
const DISABLED_SHARE = 0.4;
const CLOSED_SHARE = 0.55;
const TAKEN_OVER_SHARE = 0.65;
// Rarely come to by chance: a request is under way, and its job is on the queue again.
const TAKEN_OVER = [
  'publish adds the job, delivery 1',
  'publish is acknowledged, delivery 1',
  'worker 1 fetches a job',
  'run 1, at its job: goes on',
  'run 1, at its admission: goes on',
  'run 1, at the answer: loses its lock',
  'the stalled check puts jobs back',
];
const ENDED_SHARE = 0.8;
// What has moved, or is about to, is sent again.
const ENDED_SCENES = [
  'publish adds the job, delivery 1',
  'publish is acknowledged, delivery 1',
  'worker 1 fetches a job',
  'run 1, at its job: goes on',
  'run 1, at its admission: goes on',
  'run 1, at the answer: success',
  'run 1, at its record: goes on',
  'run 1, at what follows: goes on',
];
const ASKED_AGAIN_SHARE = 0.92;
// Of a run that has lost its lock the response is still to come, and what another one has delivered is asked for once more.
const ASKED_AGAIN = [
  ...TAKEN_OVER,
  'worker 2 fetches a job',
  'run 2, at its job: goes on',
  'run 2, at its admission: goes on',
  'run 2, at a second look at its log: goes on',
  'run 2, at the answer: success',
  'run 2, at its record: goes on',
  'run 2, at what follows: goes on',
  'run 2, at its end: goes on',
  'delivery 1 is sent again',
];
const LATE_SUCCESS_SHARE = 0.5;
/** Well more than two attempts of two deliveries take. */
const DRAIN_ROUNDS = 100;
const LATE_ROUND = 15;
const DRAIN_STEP_MS = 61_000;

/** Play the commands that a seed chooses, then let everything finish, and give the violations. */
export async function playInterleaving(lane: ModelLane, seed: number): Promise<Played> {
  const random = createSeededRandom(seed);
  const ordering = orderingOf(random());
  const deliveries = random() < ONE_DELIVERY_SHARE ? 1 : 2;
  const scene = await ModelScene.open(lane, { deliveries, ordering });
  const trace = [`${deliveries} deliveries, ordering ${ordering}`];
  const states = new Set<string>();
  const violations = await play();
  return { trace, violations, states, sightings: scene.sightings };

  async function play(): Promise<readonly string[]> {
    const beginning = random();
    if (beginning < DISABLED_SHARE) await act('the endpoint is disabled', () => scene.disable());
    else if (beginning < CLOSED_SHARE) await act('the breaker opens', () => scene.openBreaker());
    else if (beginning < TAKEN_OVER_SHARE) await actAll(TAKEN_OVER);
    else if (beginning < ENDED_SHARE) await actAll(ENDED_SCENES);
    else if (beginning < ASKED_AGAIN_SHARE) await actAll(ASKED_AGAIN);
    const length = MIN_COMMANDS + Math.floor(random() * (MAX_COMMANDS - MIN_COMMANDS + 1));
    for (let count = 0; count < length; count += 1) {
      const command = choose(commandsFor(scene), random());
      const found = await act(command.name, () => command.run());
      if (found.length > 0) return found;
    }
    return await drain();
  }

  async function actAll(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const command = commandsFor(scene).find((possible) => possible.name === name);
      if (!command) throw new Error(`This cannot happen now: ${name}.`);
      await act(name, () => command.run());
    }
  }

  async function act(name: string, run: () => Promise<void>): Promise<readonly string[]> {
    trace.push(name);
    try {
      await run();
    } catch (error) {
      return [`It threw: ${error instanceof Error ? error.stack : String(error)}`];
    }
    await scene.see();
    states.add(keyOf(scene));
    return violationsOf(scene);
  }

  /** No more failures: running work goes on, time passes, wake-ups come when they are due. */
  async function drain(): Promise<readonly string[]> {
    const lateAnswer = random() < LATE_SUCCESS_SHARE ? ACCEPTED : REFUSED;
    for (let round = 0; round < DRAIN_ROUNDS; round += 1) {
      const found = await act(`it is left alone, ${round + 1}`, () => leaveAlone(scene, round, lateAnswer));
      if (found.length > 0) return found;
      if (isAtRest(scene)) return [...unsentOf(scene), ...(await remainsOf(scene))];
    }
    return [`It does not come to rest: ${JSON.stringify(scene.snapshot)}`];
  }
}

/** Requests to send a delivery once more that were acknowledged, and that no request to the receiver came after. */
function unsentOf({ deliveries, isDeleted }: ModelScene): readonly string[] {
  const unsent = deliveries.filter(
    ({ requestsBefore, requests, isExpired }) => requestsBefore === requests && !isExpired && !isDeleted,
  );
  return unsent.map(() => 'What was asked for once more was not sent.');
}

function orderingOf(random: number): Endpoint['ordering'] {
  if (random < STRICT_SHARE) return 'strict';
  return random < STRICT_SHARE + GROUP_SHARE ? 'group' : 'none';
}

/**
 * What is left of the order within groups when all deliveries have come to their end. The place of one that was listed
 * after that is found when another one waits behind it.
 */
async function remainsOf(scene: ModelScene): Promise<readonly string[]> {
  const { lane, endpoint, deliveries, isDeleted } = scene;
  if (endpoint.ordering !== 'group' || isDeleted || deliveries.some((each) => each.isListedLate)) return [];
  const left = await Promise.all(
    ['order', 'turn', 'lines', 'ready', 'coalescing'].map((name) =>
      lane.redis.keys(`${name}:{${endpoint.id}}*`),
    ),
  );
  return left.flat().map((key) => `What is left: ${key}`);
}

async function leaveAlone(scene: ModelScene, round: number, lateAnswer: SendResult): Promise<void> {
  // A run that has lost its lock gets its response last, when another one has ended its delivery.
  const isLate = ({ hasLostLock, work, of }: ModelRun) =>
    hasLostLock &&
    work.at === SENDING &&
    round < LATE_ROUND &&
    scene.snapshot.deliveries[of]?.hasJob === true;
  for (const { publish } of scene.deliveries) await publish?.step();
  for (const { resend } of scene.deliveries) await resend?.step();
  for (const look of scene.looks) await scene.stepWakeUp(look);
  for (const mover of scene.movers) await scene.stepMove(mover);
  await scene.enabling?.step();
  if (!scene.isDeleted && !scene.isEnabled && !scene.enabling) await scene.beginEnabling();
  for (const run of scene.runs.filter((each) => !isLate(each))) {
    const answer = run.hasLostLock ? lateAnswer : ACCEPTED;
    await scene.step(run, run.work.at === SENDING ? answer : undefined);
  }
  for (const dead of scene.dead) await scene.expireLock(dead);
  await scene.see();
  const { deliveries } = scene.snapshot;
  if (deliveries.some(({ places, lock }) => places.includes('active') && lock === '')) {
    await scene.lane.checkForStalled();
  }
  for (const [index, delivery] of scene.deliveries.entries()) {
    const isPutOff = deliveries[index]?.places.includes('delayed') && delivery.putOff === 'retry';
    if (!isPutOff) continue;
    scene.lane.time.now = Math.max(scene.lane.time.now, deliveries[index]?.nextAttemptAt ?? 0);
    await scene.promote(delivery);
  }
  const isAtWork = () => scene.runs.some((run) => !isLate(run));
  if (isAtWork() || scene.looks.length > 0) return;
  const [process] = scene.processes;
  if (process) await scene.fetch(process);
  if (isAtWork()) return;
  scene.lane.time.now += DRAIN_STEP_MS;
  await scene.sweep(2);
}

function isAtRest(scene: ModelScene): boolean {
  const { snapshot, runs, looks, movers, deliveries } = scene;
  const isDone = deliveries.every(({ publish, resend, isAcknowledged }, index) => {
    const seen = snapshot.deliveries[index];
    return seen && !publish && !resend && !seen.hasJob && (!isAcknowledged || isAtEnd(scene, index, seen));
  });
  return (
    isDone &&
    runs.length === 0 &&
    looks.length === 0 &&
    movers.length === 0 &&
    snapshot.heldCount === 0 &&
    snapshot.wakeUpDueAt === undefined
  );
}

function choose(commands: readonly Command[], random: number): Command {
  let left = random * commands.reduce((sum, { weight }) => sum + weight, 0);
  for (const command of commands) {
    left -= command.weight;
    if (left < 0) return command;
  }
  const last = commands.at(-1);
  if (!last) throw new Error('Nothing can happen.');
  return last;
}
