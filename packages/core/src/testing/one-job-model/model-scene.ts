import type { UsageRecorder } from '../../accounts/account-quota';
import type { OpenAccounts } from '../../accounts/open-accounts';
import { wakeUpEndpoint } from '../../deliver/flow/releaser';
import { deliveryIdOf } from '../../domain/delivery';
import type { Endpoint, EndpointAddress } from '../../domain/endpoint';
import type { AcceptedEvent } from '../../domain/event';
import { keys } from '../../domain/keys';
import { disable } from '../../endpoints/disable';
import type { EndpointStore } from '../../endpoints/redis-endpoint-store';
import type { TransformationStore } from '../../endpoints/redis-transformation-store';
import type { PgHistory } from '../../history/database/pg-history';
import type { HistoryWriter } from '../../history/database/pg-history-writer';
import { Mover } from '../../history/mover/mover';
import type { MoverParts } from '../../history/mover/mover-parts';
import { Rehydration } from '../../history/mover/rehydration';
import { Turns } from '../../platform/batches';
import { type Atomic, atomicOneByOne } from '../../platform/redis-atomic';
import type { RedisClient } from '../../platform/redis-connect';
import { fanOutEvents } from '../../publish/fan-out-event';
import { FanOuts, type PublishingParts } from '../../publish/publishing-parts';
import type { DeliveryQueue } from '../../queue/bullmq-delivery-queue';
import type { ReleaseRequest } from '../../queue/bullmq-held-deliveries';
import { Redelivery, type RedeliveryParts } from '../../replays/redelivery';
import { atomicStepByStep, buildAtomic } from '../build-atomic';
import { buildEndpoint } from '../build-endpoint';
import { buildEndpoints } from '../build-endpoints';
import { buildEvent } from '../build-event';
import { fake } from '../fake';
import { readHeld } from '../read-held';
import { Stepwise } from '../stepwise';
import { withMethods } from '../with-methods';
import type { ModelLane } from './model-lane';
import { dropRun, type ModelProcess, type ModelRun, type PutOff, SENDING, startRun } from './model-run';
import { type Snapshot, takeSnapshot } from './model-snapshot';

export interface ModelDelivery {
  readonly event: AcceptedEvent;
  /** Its publisher, until that is done or has broken off. */
  publish: Stepwise | undefined;
  isAdded: boolean;
  isAcknowledged: boolean;
  isExpired: boolean;
  /** Why its job was put off the last time. */
  putOff: PutOff | undefined;
  /** Somebody who sends it again, until that is done or has broken off. */
  resend: Stepwise | undefined;
  isResent: boolean;
  /** How many requests it had when it was asked for once more, if that was acknowledged. */
  requestsBefore: number | undefined;
  requests: number;
  /** Whether it had ended when it was listed, and got its place in the order. */
  isListedLate: boolean;
}

/** A run whose process has died: its lock is still to expire. */
export interface DeadRun {
  readonly jobId: string;
  readonly token: string;
}

export interface SceneOptions {
  readonly deliveries: number;
  readonly ordering: Endpoint['ordering'];
  /** Absent: each goes alone. */
}

const BREAKER_OPEN_MS = 2_000;
// The model's time is long ago.
const KEPT_DAYS = 10_000;

/** The events of one interleaving: the deliveries of one endpoint, and the processes that work on them. */
export class ModelScene {
  readonly endpoint: Endpoint;
  readonly deliveries: readonly ModelDelivery[];
  runs: ModelRun[] = [];
  dead: DeadRun[] = [];
  looks: Stepwise[] = [];
  /** Those that move what has ended to the history. */
  movers: Stepwise[] = [];
  enabling: Stepwise | undefined;
  isEnabled = true;
  isDeleted = false;
  /** Violations so far. */
  readonly violations: string[] = [];
  /** How often each situation was seen. */
  readonly sightings = new Map<string, number>();
  snapshot: Snapshot = { deliveries: [], heldCount: 0, wakeUpDueAt: undefined };
  #runCount = 0;

  private constructor(
    readonly lane: ModelLane,
    { deliveries, ordering }: SceneOptions,
  ) {
    this.endpoint = buildEndpoint({ ordering, createdAt: lane.time.now, updatedAt: lane.time.now });
    this.deliveries = Array.from({ length: deliveries }, (_, i) => ({
      event: buildEvent({
        accountId: this.endpoint.accountId,
        acceptedAt: lane.time.now + i,
        ...(ordering === 'group' && { group: 'a' }),
      }),
      publish: undefined,
      isAdded: false,
      isAcknowledged: false,
      isExpired: false,
      putOff: undefined,
      resend: undefined,
      isResent: false,
      requestsBefore: undefined,
      requests: 0,
      isListedLate: false,
    }));
  }

  static async open(lane: ModelLane, options: SceneOptions): Promise<ModelScene> {
    lane.time.now += 1_000;
    lane.history.clear();
    await lane.redis.del(keys.ended);
    const scene = new ModelScene(lane, options);
    await lane.admission.endpointStore.create(scene.endpoint);
    await scene.see();
    return scene;
  }

  get processes(): readonly ModelProcess[] {
    return this.lane.processes;
  }

  get address() {
    return { accountId: this.endpoint.accountId, endpointId: this.endpoint.id };
  }

  partsOf({ event }: ModelDelivery) {
    return { accountId: event.accountId, eventId: event.id, endpointId: this.endpoint.id };
  }

  count(sighting: string): void {
    this.sightings.set(sighting, (this.sightings.get(sighting) ?? 0) + 1);
  }

  async see(): Promise<void> {
    const eventIds = this.deliveries.map(({ event }) => event.id);
    this.snapshot = await takeSnapshot(this.lane, this.endpoint, eventIds);
  }

  /** Stands still when the job is added and nothing else is done. */
  async publish(delivery: ModelDelivery): Promise<void> {
    const { admission, eventStore, endedList, movedIds } = this.lane;
    const { accountId, id } = delivery.event;
    // As a worker does that takes the event from the queue once more.
    const { isListed, moved } = await movedIds.look(accountId, id, admission.clock())(this.lane.redis);
    if (isListed || moved) {
      delivery.isAcknowledged = true;
      return;
    }
    const publish = new Stepwise();
    delivery.publish = publish;
    const parts = fake<PublishingParts>({
      ...admission,
      eventStore,
      endedList,
      atomic: atomicOneByOne(this.lane.redis),
      deliveryQueue: fake<DeliveryQueue>({
        stepToAdd: (deliveries) => async () => {
          await admission.deliveryQueue.addAll(deliveries);
          delivery.isAdded = true;
          await publish.pause('the lists');
        },
      }),
      fanOuts: new FanOuts(),
      fanOutTurns: new Turns(),
    });
    await publish.start(async () => {
      const event = { ...delivery.event, isQueued: true } as const;
      await fanOutEvents(parts, [{ event, receivers: [this.endpoint] }]);
      const { state } = await admission.deliveryStore.readWithLength(this.endpoint.id, event.id);
      delivery.isListedLate ||= !state.isOpen;
      delivery.isAcknowledged = true;
      delivery.publish = undefined;
    });
  }

  async fetch(process: ModelProcess): Promise<void> {
    this.#runCount += 1;
    const token = `${process.worker.id}:${this.endpoint.id}:${this.#runCount}`;
    const run = await startRun(this.lane, process, token, {
      onRequest: (sender) => this.#onRequest(sender),
      onPutOff: (of, why) => this.#onPutOff(of, why),
      indexOf: (eventId) => this.#indexOf(eventId),
    });
    if (run) this.runs.push(run);
  }

  async step(run: ModelRun, value?: unknown): Promise<void> {
    await run.work.step(value);
    if (run.work.hasEnded) this.runs = this.runs.filter((other) => other !== run);
  }

  /** The whole process dies, with all of its runs. */
  crash(process: ModelProcess): void {
    for (const run of this.runs.filter((each) => each.process === process)) {
      dropRun(run);
      if (!run.hasLostLock) this.dead.push({ jobId: run.jobId, token: run.token });
      this.count(`a crash at ${run.work.at}`);
    }
    this.runs = this.runs.filter((run) => run.process !== process);
  }

  async expireLock({ jobId, token }: DeadRun): Promise<void> {
    const lock = this.lane.jobKeys.lock(jobId);
    if ((await this.lane.redis.get(lock)) === token) await this.lane.redis.del(lock);
    this.dead = this.dead.filter((dead) => dead.token !== token || dead.jobId !== jobId);
  }

  async loseLock(run: ModelRun): Promise<void> {
    run.hasLostLock = true;
    this.count(`a lock lost at ${run.work.at}`);
    await this.expireLock(run);
  }

  /** Stands still before it reads the endpoint, and before it releases. */
  async beginWakeUp(permits: number): Promise<void> {
    const { admission, eventStore, endedList } = this.lane;
    const look = new Stepwise();
    const { endpointStore, heldDeliveries } = admission;
    const context = {
      ...admission,
      eventStore,
      endedList,
      endpointStore: withMethods(endpointStore, {
        find: look.before('the endpoint', (...args: Parameters<EndpointStore['find']>) =>
          endpointStore.find(...args),
        ),
      }),
      heldDeliveries: withMethods(heldDeliveries, {
        release: look.before('the release', async (address: EndpointAddress, request: ReleaseRequest) => {
          const released = await heldDeliveries.release(address, request);
          if (released.released > 0) this.count('a delivery that is released');
          if (request.only === undefined && request.most > released.released) await this.#checkEntries();
          return released;
        }),
      }),
    };
    this.looks.push(look);
    await look.start(async () => {
      await wakeUpEndpoint(context, this.address, permits);
    });
  }

  async stepWakeUp(look: Stepwise): Promise<void> {
    await look.step();
    if (look.hasEnded) this.looks = this.looks.filter((other) => other !== look);
  }

  /** Claim due wake-ups, as a process' sweep does. */
  async sweep(permits: number): Promise<void> {
    const { heldDeliveries, clock } = this.lane.admission;
    // No two claims happen within the same millisecond.
    this.lane.time.now += 1;
    const due = await heldDeliveries.claimDueWakeUps(clock(), 50);
    if (due.some(({ endpointId }) => endpointId === this.endpoint.id)) await this.beginWakeUp(permits);
  }

  /** Stands still before it writes, and before the last of some steps: in a Cluster others come between. */
  async beginMove(): Promise<void> {
    const { admission, redis, endedList, movedStore, movedIds, history } = this.lane;
    const mover = new Stepwise();
    const moving = fake<MoverParts>({
      ...admission,
      endedList,
      movedIds,
      movedStore,
      historyWriter: fake<HistoryWriter>({ write: mover.before('the write', history.write) }),
      pgHistory: fake<PgHistory>({ readStates: history.readStates }),
      openAccounts: fake<OpenAccounts>({ find: async () => ({ historyDays: undefined }) }),
      usageRecorder: fake<UsageRecorder>({ note: () => {} }),
      atomic: pausing(redis, mover),
      moveAfterMs: 0,
      keepDays: KEPT_DAYS,
    });
    this.movers.push(mover);
    await mover.start(async () => {
      const { moved } = await new Mover(moving).runOnce();
      if (moved > 0) this.count('a delivery that moves');
    });
    this.movers = this.movers.filter((other) => !other.hasEnded);
  }

  async stepMove(mover: Stepwise): Promise<void> {
    await mover.step();
    if (mover.hasEnded) this.movers = this.movers.filter((other) => other !== mover);
  }

  /** Stands still between each two steps. */
  async beginResend(delivery: ModelDelivery): Promise<void> {
    const { admission, redis, eventStore, endedList, rehydrationStore, history } = this.lane;
    const resending = new Stepwise();
    const parts = this.partsOf(delivery);
    const context = {
      ...admission,
      eventStore,
      endedList,
      rehydrationStore,
      pgHistory: fake<PgHistory>({
        readForRehydration: resending.before('the history', history.readForRehydration),
        countDeliveries: history.countDeliveries,
        readHeads: history.readHeads,
      }),
      usageRecorder: fake<UsageRecorder>({ note: () => {} }),
      atomic: atomicOneByOne(redis),
    };
    const { deliveryQueue, deliveryStore } = admission;
    const redelivery = new Redelivery(
      fake<RedeliveryParts>({
        ...context,
        deliveryQueue: withMethods(deliveryQueue, {
          addRequested: resending.before('the job', deliveryQueue.addRequested.bind(deliveryQueue)),
        }),
        deliveryStore: withMethods(deliveryStore, {
          appendIfUnchanged: resending.before(
            'the request',
            deliveryStore.appendIfUnchanged.bind(deliveryStore),
          ),
        }),
      }),
    );
    delivery.resend = resending;
    delivery.isResent = true;
    const { acceptedAt } = delivery.event;
    const input = { ...parts, acceptedAt, trigger: 'manual', requestId: `r-${parts.eventId}` } as const;
    const { requests } = delivery;
    await resending.start(async () => {
      await new Rehydration(context).bringBack(parts.accountId, [{ ...parts, createdAt: acceptedAt }]);
      const outcome = await redelivery.request(input);
      if (outcome === 'requested') {
        this.count('a delivery that is sent again');
        delivery.requestsBefore = requests;
      }
      delivery.resend = undefined;
    });
    if (resending.hasEnded) delivery.resend = undefined;
  }

  /** As after a minute: not while somebody is about to send something again. */
  async unpin(): Promise<void> {
    for (const { event } of this.deliveries) {
      const pins = [keys.pinned(this.endpoint.id, event.id), keys.pinnedEvent(event.accountId, event.id)];
      await this.lane.redis.del(...pins);
    }
  }

  async disable(): Promise<void> {
    await disable(this.lane.admission, this.endpoint.accountId, this.endpoint.id, 'client');
    this.isEnabled = false;
  }

  /** Stands still before the record is changed. */
  async beginEnabling(): Promise<void> {
    const enabling = new Stepwise();
    this.enabling = enabling;
    const { admission } = this.lane;
    const { endpointStore } = admission;
    const endpoints = buildEndpoints(this.lane.redis, {
      ...admission,
      endpointStore: withMethods(endpointStore, {
        update: enabling.before('the record', endpointStore.update.bind(endpointStore)),
      }),
    });
    await enabling.start(async () => {
      await endpoints.enable(this.endpoint.accountId, this.endpoint.id);
      this.isEnabled = true;
      this.enabling = undefined;
    });
  }

  async remove(): Promise<void> {
    this.isDeleted = true;
    const transformationStore = fake<TransformationStore>({ remove: () => Promise.resolve() });
    const endpoints = buildEndpoints(this.lane.redis, { ...this.lane.admission, transformationStore });
    await endpoints.remove(this.endpoint.accountId, this.endpoint.id);
  }

  async openBreaker(): Promise<void> {
    const { now } = this.lane.time;
    await this.lane.redis.set(keys.breaker(this.endpoint.id), `10 ${now + BREAKER_OPEN_MS} ${now} 0`);
  }

  async expire(delivery: ModelDelivery): Promise<void> {
    delivery.isExpired = true;
    await this.lane.redis.del(keys.event(delivery.event.accountId, delivery.event.id));
  }

  /** All delayed jobs come back, as when they are due: retries, and held ones as well. */
  async putBackDue(): Promise<void> {
    for (const [index, { places }] of this.snapshot.deliveries.entries()) {
      const isHeld = this.deliveries[index]?.putOff === 'held';
      if (places.includes('delayed'))
        this.count(isHeld ? 'a held delivery that is due' : 'a retry that is due');
    }
    await this.lane.dueDeliveries.runOnce();
  }

  async promote(delivery: ModelDelivery): Promise<void> {
    const { endpointId, eventId } = this.partsOf(delivery);
    await this.lane.admission.deliveryQueue.promote(endpointId, [eventId]);
  }

  async #onRequest(sender: ModelRun): Promise<void> {
    const others = this.runs.filter(
      ({ of, work }) => work !== sender.work && work.at === SENDING && of === sender.of,
    );
    if (sender.hasLostLock) this.violations.push('A request of a run that has lost its lock.');
    if (others.some(({ hasLostLock }) => !hasLostLock)) this.violations.push('Two requests at once.');
    if (others.length > 0) this.count('two requests in flight');
    await this.see();
    if (!this.snapshot.deliveries[sender.of]?.isOpen) this.violations.push('A request after a recorded end.');
    this.count('a request');
    const delivery = this.deliveries[sender.of];
    if (delivery) delivery.requests += 1;
  }

  #onPutOff(of: number, why: PutOff | undefined): void {
    const delivery = this.deliveries[of];
    if (delivery) delivery.putOff = why;
    if (why)
      this.count(why === 'held' ? 'a delivery that is held' : 'a delivery that is put off for a retry');
  }

  async #checkEntries(): Promise<void> {
    const held = await readHeld(this.lane.admission.heldDeliveries, this.endpoint.id);
    for (const eventId of held) {
      const jobId = deliveryIdOf({ eventId, endpointId: this.endpoint.id });
      if ((await this.lane.redis.exists(this.lane.jobKeys.job(jobId))) === 0) {
        this.violations.push('An entry without a job stays after a look.');
      }
    }
  }

  #indexOf(eventId: string): number {
    const index = this.deliveries.findIndex(({ event }) => event.id === eventId);
    if (index < 0) throw new Error(`A job of another interleaving was left: ${eventId}.`);
    return index;
  }
}

/** One after the other, and standing still before the last of several steps. */
function pausing(redis: RedisClient, work: Stepwise): Atomic {
  const turns = new Turns();
  return buildAtomic((steps) =>
    turns.take(async () => {
      let left = steps.length;
      const atomic = atomicStepByStep(redis, async () => {
        left -= 1;
        if (left === 0 && steps.length > 1) await work.pause('the removal');
      });
      return await atomic(steps);
    }),
  );
}
