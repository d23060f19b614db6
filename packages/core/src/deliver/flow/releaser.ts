import type { AccountId } from '../../domain/account';
import { PROBE_MS, phaseOf } from '../../domain/breaker';
import type { NewDelivery } from '../../domain/delivery';
import { readSummary } from '../../domain/delivery-log';
import type { Endpoint, EndpointAddress, EndpointId } from '../../domain/endpoint';
import type { EventId } from '../../domain/event';
import type { Emit } from '../../domain/signal';
import type { AdmissionStore } from '../../endpoints/admission/redis-admission-store';
import type { BesideLanes } from '../../endpoints/admission/redis-beside-lanes';
import type { FormerOrder } from '../../endpoints/former-order/redis-former-order';
import type { EndpointStore } from '../../endpoints/redis-endpoint-store';
import type { VerificationPolicy } from '../../endpoints/verification/verify';
import type { DeliveryStore } from '../../events/redis-delivery-store';
import type { EndedList } from '../../events/redis-ended-list';
import type { EventStore } from '../../events/redis-event-store';
import { createLru } from '../../platform/caches';
import type { Clock } from '../../platform/clock';
import type { Atomic } from '../../platform/redis-atomic';
import { settledWithin, WakeUpTimer } from '../../platform/timers';
import type { DeliveryHolds } from '../../queue/bullmq-delivery-holds';
import type { DeliveryQueue } from '../../queue/bullmq-delivery-queue';
import type { HeldDeliveries, Released } from '../../queue/bullmq-held-deliveries';
import type { OldestEvents } from '../../queue/bullmq-oldest-events';
import type { Concurrency } from './concurrency';
import { releaseDiscarded } from './release-discarded';

export interface ReleaserParts {
  readonly endpointStore: EndpointStore;
  readonly eventStore: EventStore;
  readonly deliveryStore: DeliveryStore;
  /** Absent: there is no history. */
  readonly endedList?: EndedList | undefined;
  readonly deliveryQueue: DeliveryQueue;
  readonly heldDeliveries: HeldDeliveries;
  readonly deliveryHolds: DeliveryHolds;
  readonly oldestEvents: OldestEvents;
  readonly admissionStore: AdmissionStore;
  readonly besideLanes: BesideLanes;
  /** Only with `RECORD_FORM=former`. */
  readonly formerOrder?: FormerOrder | undefined;
  readonly verificationPolicy: VerificationPolicy;
  readonly concurrency: Concurrency;
  /** It runs scripts on the Redis of these stores. */
  readonly atomic: Atomic;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** This process' state of an endpoint with held deliveries. */
interface Watched {
  readonly address: EndpointAddress;
  /** When its timer fires. Milliseconds since the Unix epoch. */
  timerAt: number;
  timer: NodeJS.Timeout | undefined;
  /** Permits that became free since the last wake-up. */
  permits: number;
  isWakingUp: boolean;
}

/** The interval of the sweep, whatever timers any process has set. */
const SWEEP_EVERY_S = 1;
const SWEPT_AT_ONCE = 50;
/** A wake-up without another reason releases this many; each success releases more. */
const PERMITS = 2;
// Attempts end by the hundred within a moment: one wake-up serves all of them. Released deliveries wait a
// little in this process, so that no permit is idle meanwhile.
const GATHERED_MS = 25;
// Enough for the replies of Redis. If there are none, the sweep of another process finds what is due.
const STOP_PATIENCE_MS = 1_000;
// The sweep serves forgotten endpoints.
const WATCHED_ENDPOINTS = 10_000;

/**
 * Wakes up endpoints with held deliveries: at the requested time, when permits become free, and by a sweep
 * each second, which also finds requests of processes that are gone.
 */
export class Releaser {
  readonly #watched = createLru<EndpointId, Watched>(WATCHED_ENDPOINTS, {
    dispose: ({ timer }) => clearTimeout(timer),
  });
  /** In the order of their requests. */
  readonly #awaitingSlot = new Map<EndpointId, EndpointAddress>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #sweepTimer = new WakeUpTimer(() => this.#sweep());
  #isStopped = true;

  constructor(private readonly parts: ReleaserParts) {}

  start(): void {
    this.#isStopped = false;
    this.#sweepTimer.wakeUpInAbout(SWEEP_EVERY_S);
  }

  /** Does the wake-ups that are due now: the last attempts of this process have asked for them. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const soon = this.parts.clock() + GATHERED_MS;
    const due = [...this.#watched.values()].filter(({ timer, timerAt }) => timer && timerAt <= soon);
    this.#watched.clear();
    await Promise.all([this.#sweepTimer.stop(), ...this.#underWay]);
    const wakeUps = due.map((watched) => this.#wakeUp(watched, this.#permitsNow(watched)));
    await settledWithin(STOP_PATIENCE_MS, Promise.all(wakeUps));
  }

  /** Wake up all endpoints whose wake-up is due. */
  async runOnce(): Promise<void> {
    const { heldDeliveries, clock } = this.parts;
    for (;;) {
      const due = await heldDeliveries.claimDueWakeUps(clock(), SWEPT_AT_ONCE);
      await Promise.all(due.map((address) => this.#wakeUp(this.#watch(address), this.#permitsAt(address))));
      if (due.length < SWEPT_AT_ONCE) return;
    }
  }

  /** Whether deliveries to the endpoint are held, as far as this process knows. */
  isWatching(endpointId: EndpointId): boolean {
    return this.#watched.has(endpointId);
  }

  /** Wake an endpoint up at a time, or before. */
  wakeUpAt(accountId: AccountId, endpointId: EndpointId, at: number): void {
    this.#setTimer(this.#watch({ accountId, endpointId }), at);
  }

  /** Release this many more of an endpoint's held deliveries. One wake-up serves several calls. */
  grant(accountId: AccountId, endpointId: EndpointId, permits: number): void {
    if (this.#isStopped || permits < 1) return;
    const watched = this.#watch({ accountId, endpointId });
    watched.permits += permits;
    this.#setTimer(watched, this.parts.clock() + GATHERED_MS);
  }

  /** Give this endpoint the next free slot, after endpoints that wait already. */
  awaitSlot(accountId: AccountId, endpointId: EndpointId): void {
    if (this.#awaitingSlot.size < WATCHED_ENDPOINTS) {
      this.#awaitingSlot.set(endpointId, { accountId, endpointId });
    }
  }

  slotIsFree(): void {
    for (const [id, { accountId, endpointId }] of this.#awaitingSlot) {
      this.#awaitingSlot.delete(id);
      return this.grant(accountId, endpointId, 1);
    }
  }

  #watch(address: EndpointAddress): Watched {
    const known = this.#watched.get(address.endpointId);
    if (known) return known;
    const watched: Watched = { address, timerAt: 0, timer: undefined, permits: 0, isWakingUp: false };
    this.#watched.set(address.endpointId, watched);
    return watched;
  }

  #setTimer(watched: Watched, at: number): void {
    if (this.#isStopped) return;
    if (watched.timer !== undefined && watched.timerAt <= at) return;
    clearTimeout(watched.timer);
    watched.timerAt = at;
    const delayMs = Math.max(at - this.parts.clock(), 0);
    watched.timer = setTimeout(() => {
      watched.timer = undefined;
      this.#track(this.#wakeUp(watched, this.#permitsNow(watched)));
    }, delayMs);
  }

  // Permits that were granted one by one may be more than the present limit.
  #permitsNow({ address, permits }: Watched): number {
    if (permits === 0) return this.#permitsAt(address);
    return Math.min(permits, this.parts.concurrency.freePermits(address.endpointId));
  }

  #permitsAt({ endpointId }: EndpointAddress): number {
    const { concurrency } = this.parts;
    return Math.min(concurrency.freePermits(endpointId), concurrency.isSlow(endpointId) ? 1 : PERMITS);
  }

  async #wakeUp(watched: Watched, permits: number): Promise<void> {
    // One at a time: the next one knows which deliveries this one has released.
    if (watched.isWakingUp) return this.#setTimer(watched, this.parts.clock() + GATHERED_MS);
    watched.isWakingUp = true;
    watched.permits = 0;
    try {
      const { left, wakeUpAgainAt } = await wakeUpEndpoint(this.parts, watched.address, permits);
      if (left === 0) this.#forget(watched);
      else this.#setTimer(watched, wakeUpAgainAt);
    } catch (error) {
      // It is still due in Redis: the sweep tries it again.
      this.parts.emit({ name: 'task.failed', task: 'release held deliveries', error });
    } finally {
      watched.isWakingUp = false;
    }
  }

  #forget(watched: Watched): void {
    if (watched.timer === undefined) this.#watched.delete(watched.address.endpointId);
  }

  async #sweep(): Promise<void> {
    try {
      await this.runOnce();
    } catch (error) {
      this.parts.emit({ name: 'task.failed', task: 'release held deliveries', error });
    }
    this.#sweepTimer.wakeUpInAbout(SWEEP_EVERY_S);
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }
}

/** The result of a wake-up, and when the next one is due, if some are still held. */
export interface WokenUp extends Pick<Released, 'left'> {
  readonly wakeUpAgainAt: number;
}

/** How many may go at once, and when to wake the endpoint up again. */
interface Allowance {
  readonly most: number;
  readonly only?: readonly EventId[];
  /** Beside `only`, any lines that are held. */
  readonly linesToo?: boolean;
  /** Deliveries that lanes wait for, and that may have lost their jobs. */
  readonly waitedFor?: readonly EventId[];
  /** Whether lines go on whatever they wait for. */
  readonly wakesLines?: boolean;
  readonly againInMs: number;
}

/**
 * Deliveries that wait for a permit or a turn are released as others end. In any case the endpoint wakes up
 * after this time.
 */
export const SAFETY_WAKE_UP_MS = 10_000;
// Only this process is full: another one may have room, and its sweep finds the deliveries that this one has
// held.
const FULL_WAKE_UP_MS = 1_000;
// Hundreds of restored ones may come one after the other.
const LOOK_AGAIN_MS = 10;
const JOINING_AT_ONCE = 200;
// Nothing is sent to a deleted endpoint: each released delivery ends as cancelled.
const DELETED_AT_ONCE = 500;
const DELETED_WAKE_UP_MS = 100;

// To enable an endpoint asks for a wake-up. This serves endpoints whose process died before it asked.
export const DISABLED_WAKE_UP_MS = 600_000;
// A proof asks for a wake-up. This serves endpoints that no longer need a proof, because the operator changed the rule.
export const UNVERIFIED_WAKE_UP_MS = 60_000;

/**
 * Release as many of an endpoint's held deliveries as there are permits, as far as it is enabled and its
 * circuit breaker, its rate limit and its ordering allow. Any process may call it at any time, as often as it
 * likes: a released delivery is checked once more when it runs.
 */
export async function wakeUpEndpoint(
  parts: ReleaserParts,
  address: EndpointAddress,
  permits: number,
): Promise<WokenUp> {
  const { heldDeliveries, admissionStore, besideLanes, clock } = parts;
  const { accountId, endpointId } = address;
  // Read the due time first: a request that comes from here on is not overwritten.
  const wakeUpWasDueAt = await heldDeliveries.wakeUpDueAt(address);
  const endpoint = await parts.endpointStore.find(accountId, endpointId);
  const discarded = await releaseDiscarded(parts, endpoint, wakeUpWasDueAt);
  if (discarded) return discarded;
  const allowance = await allowanceOf(parts, endpoint, permits);
  const { most, only, linesToo, waitedFor = [], wakesLines, againInMs } = allowance;
  const now = clock();
  const wakeUpAgainAt = now + againInMs;
  const request = { most, only, linesToo, wakesLines, wakeUpWasDueAt, wakeUpAgainAt, now };
  const { released, left, missing, hasMoreLines } = await heldDeliveries.release(address, request);
  if (left === 0 && endpoint?.rateLimit !== undefined) await admissionStore.endRateWait(endpointId);
  // For example after Redis has lost data: all deliveries behind them would wait for ever.
  const isRestored = await Promise.all(
    [...missing, ...waitedFor].map((eventId) => restoreDelivery(parts, address, eventId)),
  );
  const mayBeMore = isRestored.includes(true);
  if (mayBeMore) await besideLanes.lookSoon(endpointId);
  const isSoon = hasMoreLines || released >= JOINING_AT_ONCE || mayBeMore;
  const waiting = mayBeMore ? Math.max(left, 1) : left;
  return { left: waiting, wakeUpAgainAt: isSoon ? clock() + LOOK_AGAIN_MS : wakeUpAgainAt };
}

async function allowanceOf(
  parts: ReleaserParts,
  endpoint: Endpoint | undefined,
  permits: number,
): Promise<Allowance> {
  if (!endpoint) return { most: DELETED_AT_ONCE, wakesLines: true, againInMs: DELETED_WAKE_UP_MS };
  if (endpoint.status === 'disabled') return { most: 0, againInMs: DISABLED_WAKE_UP_MS };
  if (await parts.verificationPolicy.isWaiting(endpoint)) {
    return { most: 0, againInMs: UNVERIFIED_WAKE_UP_MS };
  }
  const { breaker, rate } = await parts.admissionStore.stand(endpoint.id, endpoint.rateLimit);
  const now = parts.clock();
  const phase = phaseOf(breaker, now);
  if (phase === 'open') return { most: 0, againInMs: Math.min(breaker.openUntil - now, PROBE_MS) };
  const safetyMs = permits === 0 ? FULL_WAKE_UP_MS : SAFETY_WAKE_UP_MS;
  const againInMs = Math.min(rate.free < permits ? rate.nextInMs : safetyMs, safetyMs);
  const most = Math.min(phase === 'half_open' ? 1 : permits, rate.free);
  if (endpoint.ordering === 'none') return { most, againInMs };
  if (most < 1) return { most: 0, againInMs };
  const { besideLanes, formerOrder, oldestEvents } = parts;
  if (formerOrder) {
    // Lines that a process without RECORD_FORM=former has left take no turns.
    return { againInMs, linesToo: true, ...(await formerOrder.allow(endpoint, most, oldestEvents)) };
  }
  const waitedFor = await besideLanes.look(endpoint.id);
  // What is held with jobs of its own only becomes entries of the lane.
  return { most: endpoint.ordering === 'strict' ? JOINING_AT_ONCE : most, waitedFor, againInMs };
}

/**
 * Give a job to a delivery that all others of its endpoint wait for, or remove it from the order if it has
 * ended. While the queues are being split again it may have one in another shard, which comes here.
 *
 * @returns whether there was something to do.
 */
async function restoreDelivery(
  parts: ReleaserParts,
  { accountId, endpointId }: EndpointAddress,
  eventId: EventId,
): Promise<boolean> {
  const { deliveryQueue, besideLanes, atomic } = parts;
  const delivery = { accountId, endpointId, eventId };
  if ((await deliveryQueue.requestOf(delivery)) !== 'no_job') return false;
  if (await isUnfinished(parts, delivery)) await deliveryQueue.addAll([delivery]);
  else await atomic([besideLanes.leave(endpointId, eventId)]);
  return true;
}

// A worker that stood still may hold a delivery, or put it in order, after another one has ended it. Then it may have
// moved to the history since: it has no log, as if it had not begun, and is none of its event's receivers any more.
async function isUnfinished(
  { deliveryStore, eventStore, endedList }: ReleaserParts,
  delivery: NewDelivery,
): Promise<boolean> {
  const [log = ''] = await deliveryStore.readLogs([delivery]);
  if (log !== '' || endedList === undefined) return readSummary(log).isOpen;
  return await eventStore.isReceiver(delivery.accountId, delivery);
}
