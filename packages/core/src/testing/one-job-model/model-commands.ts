import type { SendResult } from '../../domain/transport';
import { type ModelRun, SENDING } from './model-run';
import type { ModelDelivery, ModelScene } from './model-scene';

/** Something that can happen now. */
export interface Command {
  readonly name: string;
  /** How often it is chosen, compared with the others. */
  readonly weight: number;
  run(): Promise<void>;
}

export const ACCEPTED: SendResult = responded(204);
export const REFUSED: SendResult = responded(500);

const MAX_RUNS = 3;
const MAX_LOOKS = 2;
const MAX_MOVERS = 2;
const CLAIMED_FOR_MS = 30_000;
const PLACES = 8;
// Past the wake-up that a held delivery asks for, past an opened breaker, past a probe that was lost.
const JUMPS_MS = [150, 3_000, 61_000];

/** Everything that can happen now, in an order that depends on nothing else. */
export function commandsFor(scene: ModelScene): readonly Command[] {
  return [
    ...scene.deliveries.flatMap((delivery, index) => commandsForDelivery(scene, delivery, index)),
    ...commandsForWorkers(scene),
    ...scene.runs.flatMap((run, index) => commandsForRun(scene, run, index)),
    ...commandsForEndpoint(scene),
    ...commandsForLooks(scene),
    ...commandsForHistory(scene),
  ];
}

function commandsForDelivery(scene: ModelScene, delivery: ModelDelivery, index: number): Command[] {
  const seen = scene.snapshot.deliveries[index];
  const isDelayed = seen?.places.includes('delayed') === true;
  const name = (what: string) => `${what}, delivery ${index + 1}`;
  const { publish, isAdded, putOff } = delivery;
  const { admission, time } = scene.lane;
  return possible(
    when(!publish, name(isAdded ? 'publish is repeated' : 'publish adds the job'), isAdded ? 1 : 12, () =>
      scene.publish(delivery),
    ),
    when(publish !== undefined, name('publish is acknowledged'), 6, async () => publish?.step()),
    when(publish !== undefined, name('publish breaks off'), 1, async () => {
      delivery.publish = undefined;
    }),
    when(isAdded && !seen?.wasSent, name('the job is added once more'), 1, () =>
      admission.deliveryQueue.addAll([scene.partsOf(delivery)]),
    ),
    when(isDelayed && putOff === 'retry', name('the retry is due'), 6, async () => {
      time.now = Math.max(time.now, seen?.nextAttemptAt ?? 0);
      await scene.putBackDue();
    }),
    when(isDelayed, name('it is brought forward'), 1, () => scene.promote(delivery)),
    when(isAdded && !delivery.isExpired, name('the event expires'), 0.4, () => scene.expire(delivery)),
  );
}

function commandsForWorkers(scene: ModelScene): Command[] {
  const isPutOff = scene.snapshot.deliveries.some(({ places }) => places.includes('delayed'));
  const isWaiting = scene.snapshot.deliveries.some(
    ({ places }) => places.includes('wait') || places.includes('prioritized'),
  );
  const hasStalled = scene.snapshot.deliveries.some(
    ({ places, lock }) => places.includes('active') && lock === '',
  );
  return possible(
    ...scene.processes.flatMap((process, index) => {
      const name = (what: string) => `worker ${index + 1} ${what}`;
      const runs = scene.runs.filter((run) => run.process === process);
      return [
        when(isWaiting && scene.runs.length < MAX_RUNS, name('fetches a job'), 8, () => scene.fetch(process)),
        when(runs.length > 0, name('crashes'), 1.5, async () => scene.crash(process)),
      ];
    }),
    ...scene.dead.map((dead, index) =>
      when(true, `the lock of dead run ${index + 1} expires`, 4, () => scene.expireLock(dead)),
    ),
    when(isPutOff, 'all that was put off is due', 1.5, () => scene.putBackDue()),
    when(hasStalled, 'the stalled check puts jobs back', 9, () => scene.lane.checkForStalled()),
  );
}

function commandsForRun(scene: ModelScene, run: ModelRun, index: number): Command[] {
  const { at } = run.work;
  const name = (what: string) => `run ${index + 1}, at ${at}: ${what}`;
  const isSending = at === SENDING;
  // Only a slow receiver leads to two concurrent requests.
  const answerWeight = run.hasLostLock ? 0.5 : 3;
  return possible(
    when(!isSending, name('goes on'), 9, () => scene.step(run)),
    when(isSending, name('success'), answerWeight, () => scene.step(run, ACCEPTED)),
    when(isSending, name('failure'), answerWeight, () => scene.step(run, REFUSED)),
    when(!run.hasLostLock, name('loses its lock'), isSending ? 3 : 0.8, () => scene.loseLock(run)),
  );
}

function commandsForEndpoint(scene: ModelScene): Command[] {
  const { isEnabled, enabling, isDeleted, lane } = scene;
  const isChanging = enabling !== undefined;
  return possible(
    when(!isDeleted && isEnabled, 'the endpoint is disabled', 2.5, () => scene.disable()),
    when(!isDeleted && !isEnabled && !isChanging, 'somebody enables the endpoint', 3, () =>
      scene.beginEnabling(),
    ),
    when(isChanging, 'the endpoint is enabled', 4, async () => enabling?.step()),
    when(!isDeleted && isEnabled, 'the breaker opens', 1, () => scene.openBreaker()),
    when(!isDeleted && !isChanging, 'the endpoint is deleted', 0.15, () => scene.remove()),
    ...JUMPS_MS.map((ms) =>
      when(true, `${ms} ms go by`, 0.8, async () => {
        lane.time.now += ms;
      }),
    ),
  );
}

function commandsForLooks(scene: ModelScene): Command[] {
  const { looks, lane, snapshot } = scene;
  const isDue = snapshot.wakeUpDueAt !== undefined && snapshot.wakeUpDueAt <= lane.time.now;
  const hasRoom = looks.length < MAX_LOOKS;
  return possible(
    when(hasRoom && isDue, 'a sweep claims the endpoint', 6, () => scene.sweep(PLACES)),
    when(hasRoom && snapshot.heldCount > 0, 'somebody looks', 2, () => scene.beginWakeUp(PLACES)),
    when(hasRoom, 'somebody looks for one', 0.4, () => scene.beginWakeUp(1)),
    ...looks.flatMap((look, index) => [
      when(true, `look ${index + 1} goes on to ${look.at}`, 6, () => scene.stepWakeUp(look)),
      when(true, `look ${index + 1} ends, as its process dies`, 0.3, async () => {
        scene.looks = scene.looks.filter((other) => other !== look);
      }),
    ]),
  );
}

function commandsForHistory(scene: ModelScene): Command[] {
  const { movers, deliveries, snapshot } = scene;
  const isResending = deliveries.some(({ resend }) => resend !== undefined);
  const hasAnyEnded = snapshot.deliveries.some(({ isOpen, hasMoved }) => !isOpen && !hasMoved);
  return possible(
    when(hasAnyEnded && movers.length < MAX_MOVERS, 'somebody moves what has ended', 9, () =>
      scene.beginMove(),
    ),
    ...movers.flatMap((mover, index) => [
      when(true, `mover ${index + 1} goes on to ${mover.at}`, 6, () => scene.stepMove(mover)),
      when(true, `mover ${index + 1} ends, as its process dies`, 0.5, async () => {
        scene.movers = movers.filter((other) => other !== mover);
        scene.lane.time.now += CLAIMED_FOR_MS;
      }),
    ]),
    ...deliveries.flatMap((delivery, index) => commandsForResend(scene, delivery, index)),
    when(!isResending, 'what was kept for a request may move', 0.5, () => scene.unpin()),
  );
}

function commandsForResend(scene: ModelScene, delivery: ModelDelivery, index: number): Command[] {
  const seen = scene.snapshot.deliveries[index];
  const { resend, isResent, isAcknowledged, isExpired } = delivery;
  const hasEnded = isAcknowledged && seen?.isOpen === false && !isExpired && !scene.isDeleted;
  const name = (what: string) => `delivery ${index + 1} ${what}`;
  return possible(
    when(hasEnded && !isResent, name('is sent again'), 3, () => scene.beginResend(delivery)),
    when(resend !== undefined, name(`is sent again: goes on to ${resend?.at}`), 6, async () =>
      resend?.step(),
    ),
    when(resend !== undefined, name('is sent again: its process dies'), 0.5, async () => {
      delivery.resend = undefined;
    }),
  );
}

function when(
  isPossible: boolean,
  name: string,
  weight: number,
  run: () => Promise<void>,
): Command | undefined {
  return isPossible ? { name, weight, run } : undefined;
}

function possible(...commands: readonly (Command | undefined)[]): Command[] {
  return commands.filter((command) => command !== undefined);
}

function responded(status: number, body = ''): SendResult {
  return { kind: 'responded', status, retryAfter: undefined, wish: undefined, body, timings: {} };
}
