import type { AccountId } from '../../domain/account';
import { PROBE_MS, phaseOf } from '../../domain/breaker';
import type { Endpoint, EndpointAddress, EndpointId } from '../../domain/endpoint';
import type { EventId } from '../../domain/event';
import type { Emit } from '../../domain/signal';
import type { AdmissionStore, OrderedDelivery } from '../../endpoints/flow/redis-admission-store';
import type { EndpointStore } from '../../endpoints/redis-endpoint-store';
import type { DeliveryStore } from '../../events/redis-delivery-store';
import { createLru } from '../../platform/caches';
import type { Clock } from '../../platform/clock';
import { WakeUpTimer } from '../../platform/timers';
import type { DeliveryQueue } from '../../queue/bullmq-delivery-queue';
import type { HeldDeliveries, Released } from '../../queue/bullmq-held-deliveries';
import type { OldestEvents } from '../../queue/bullmq-oldest-events';
import type { Concurrency } from './concurrency';

export interface ReleaserContext extends WakeUpContext {
  readonly heldDeliveries: Pick<HeldDeliveries, 'claimDueWakeUps' | 'release' | 'wakeUpDueAt'>;
  readonly concurrency: Pick<Concurrency, 'freePermits' | 'isSlow'>;
  readonly emit: Emit;
}

/** What this process knows of an endpoint that has held deliveries. */
interface Watched {
  readonly address: EndpointAddress;
  /** When its timer goes off. Milliseconds since the Unix epoch. */
  timerAt: number;
  timer: NodeJS.Timeout | undefined;
  /** Permits that became free since the last wake-up. */
  permits: number;
  isWakingUp: boolean;
}

/** The sweep: so often, whatever any process has in mind. */
const SWEEP_EVERY_MS = 1_000;
const SWEPT_AT_ONCE = 50;
/** A wake-up for no other reason lets so many go; each that ends well lets more of them go. */
const PERMITS = 2;
// Attempts end by the hundred within a moment: one wake-up serves all of them. What it releases waits a little in this
// process, so that no permit is idle meanwhile.
const GATHERED_MS = 25;
// Of those that are forgotten the sweep takes care.
const WATCHED_ENDPOINTS = 10_000;

/**
 * Wakes up endpoints whose deliveries are held: at the time that was asked for, when permits become free, and by a sweep each
 * second, which also finds what processes that are gone have asked for.
 */
export class Releaser {
  readonly #watched = createLru<EndpointId, Watched>(WATCHED_ENDPOINTS, {
    dispose: ({ timer }) => clearTimeout(timer),
  });
  /** In the order in which they asked. */
  readonly #awaitingSlot = new Map<EndpointId, EndpointAddress>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #sweepTimer = new WakeUpTimer(() => this.#sweep());
  #isStopped = true;

  constructor(private readonly context: ReleaserContext) {}

  start(): void {
    this.#isStopped = false;
    this.#sweepTimer.wakeUpIn(SWEEP_EVERY_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#watched.clear();
    await Promise.all([this.#sweepTimer.stop(), ...this.#underWay]);
  }

  /** Wakes up all endpoints whose wake-up is due. */
  async runOnce(): Promise<void> {
    const { heldDeliveries, clock } = this.context;
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

  /** Wakes an endpoint up at a time, or before. */
  wakeUpAt(accountId: AccountId, endpointId: EndpointId, at: number): void {
    this.#setTimer(this.#watch({ accountId, endpointId }), at);
  }

  /** So many more of an endpoint's held deliveries may go; several are let go at once. */
  grant(accountId: AccountId, endpointId: EndpointId, permits: number): void {
    if (this.#isStopped || permits < 1) return;
    const watched = this.#watch({ accountId, endpointId });
    watched.permits += permits;
    this.#setTimer(watched, this.context.clock() + GATHERED_MS);
  }

  /** The next slot that becomes free for those that find none is this endpoint's, after those that wait already. */
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
    const delayMs = Math.max(at - this.context.clock(), 0);
    watched.timer = setTimeout(() => {
      watched.timer = undefined;
      this.#track(this.#wakeUp(watched, this.#permitsNow(watched)));
    }, delayMs);
  }

  // What was granted one by one may be more than there is room for by now.
  #permitsNow({ address, permits }: Watched): number {
    if (permits === 0) return this.#permitsAt(address);
    return Math.min(permits, this.context.concurrency.freePermits(address.endpointId));
  }

  #permitsAt({ endpointId }: EndpointAddress): number {
    const { concurrency } = this.context;
    return Math.min(concurrency.freePermits(endpointId), concurrency.isSlow(endpointId) ? 1 : PERMITS);
  }

  async #wakeUp(watched: Watched, permits: number): Promise<void> {
    // One at a time: the next one knows what this one has let go.
    if (watched.isWakingUp) return this.#setTimer(watched, this.context.clock() + GATHERED_MS);
    watched.isWakingUp = true;
    watched.permits = 0;
    try {
      const { left, wakeUpAgainAt } = await wakeUpEndpoint(this.context, watched.address, permits);
      if (left === 0) this.#forget(watched);
      else this.#setTimer(watched, wakeUpAgainAt);
    } catch (error) {
      // It is due still, as far as Redis knows: a sweep comes back to it.
      this.context.emit({ name: 'task.failed', task: 'look at endpoint', error });
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
      this.context.emit({ name: 'task.failed', task: 'look at endpoint', error });
    }
    this.#sweepTimer.wakeUpIn(SWEEP_EVERY_MS);
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }
}

export interface WakeUpContext extends RestoreDeliveryContext {
  readonly endpointStore: Pick<EndpointStore, 'find'>;
  readonly admissionStore: Pick<AdmissionStore, 'stand' | 'endRateWait' | 'leaveOrder'>;
  readonly heldDeliveries: Pick<HeldDeliveries, 'release' | 'wakeUpDueAt'>;
  readonly oldestEvents: Pick<OldestEvents, 'hasOlder'>;
  readonly clock: Clock;
}

/** What came of a wake-up, and when the next one is due, if some are held still. */
export interface WokenUp extends Pick<Released, 'left'> {
  readonly wakeUpAgainAt: number;
}

/** How many may go at once, and when the endpoint is to be woken up again. */
interface Allowance {
  readonly most: number;
  readonly only?: EventId;
  readonly againInMs: number;
}

/** Those that wait for a permit or a turn are released as others end. So much later the endpoint wakes up in any case. */
export const SAFETY_WAKE_UP_MS = 10_000;
// Full is one process: another one may have room, and finds by its sweep what this one has held.
const FULL_WAKE_UP_MS = 1_000;
// Fan-outs take milliseconds; one that broke off is put back for a second, one whose worker died for longer.
const OLDER_EVENT_WAKE_UP_MS = 100;
// There may be hundreds like it in a row, one behind the other.
const RESTORED_WAKE_UP_MS = 10;
// To a deleted endpoint nothing is sent: each one that is released ends as cancelled.
const DELETED_AT_ONCE = 500;
const DELETED_WAKE_UP_MS = 100;

// What enables it asks for a wake-up; this is for a process that died before it came to that.
const DISABLED_WAKE_UP_MS = 600_000;

/**
 * Releases as many of an endpoint's held deliveries as there are permits, as far as it is enabled and its circuit breaker,
 * its rate limit and its ordering allow. Any process may do so, at any time and as often as it likes: what is released is
 * asked once more when it runs.
 */
export async function wakeUpEndpoint(
  context: WakeUpContext,
  address: EndpointAddress,
  permits: number,
): Promise<WokenUp> {
  const { heldDeliveries, admissionStore, clock } = context;
  const { accountId, endpointId } = address;
  // When it is due is read first: what somebody asks for from here on is not overwritten.
  const wakeUpWasDueAt = await heldDeliveries.wakeUpDueAt(address);
  const endpoint = await context.endpointStore.find(accountId, endpointId);
  const { most, only, againInMs } = await allowanceOf(context, endpoint, permits);
  const now = clock();
  const wakeUpAgainAt = now + againInMs;
  const request = { most, only, wakeUpWasDueAt, wakeUpAgainAt, now };
  const { left, isMissing } = await heldDeliveries.release(address, request);
  if (left === 0 && endpoint?.rateLimit !== undefined) await admissionStore.endRateWait(endpointId);
  if (!isMissing || only === undefined) return { left, wakeUpAgainAt };
  // After Redis has lost data, say: all behind it would wait for ever.
  await restoreDelivery(context, address, only);
  return { left, wakeUpAgainAt: clock() + RESTORED_WAKE_UP_MS };
}

async function allowanceOf(
  context: WakeUpContext,
  endpoint: Endpoint | undefined,
  permits: number,
): Promise<Allowance> {
  if (!endpoint) return { most: DELETED_AT_ONCE, againInMs: DELETED_WAKE_UP_MS };
  if (endpoint.status === 'disabled') return { most: 0, againInMs: DISABLED_WAKE_UP_MS };
  const { breaker, rate, next } = await context.admissionStore.stand(endpoint.id, endpoint.rateLimit);
  const now = context.clock();
  const phase = phaseOf(breaker, now);
  if (phase === 'open') return { most: 0, againInMs: Math.min(breaker.openUntil - now, PROBE_MS) };
  const safetyMs = permits === 0 ? FULL_WAKE_UP_MS : SAFETY_WAKE_UP_MS;
  const againInMs = Math.min(rate.free < permits ? rate.nextInMs : safetyMs, safetyMs);
  const most = Math.min(phase === 'half_open' ? 1 : permits, rate.free);
  if (endpoint.ordering === 'none') return { most, againInMs };
  if (most < 1) return { most: 0, againInMs };
  // Nobody is in the order: what was held before there was one joins it when it is asked again.
  return next ? await allowanceInOrder(context, endpoint, next, againInMs) : { most: 1, againInMs };
}

async function allowanceInOrder(
  { oldestEvents }: WakeUpContext,
  { accountId }: Endpoint,
  { eventId, acceptedAt, hasBegun }: OrderedDelivery,
  againInMs: number,
): Promise<Allowance> {
  const isOvertaking = !hasBegun && (await oldestEvents.hasOlder({ accountId, id: eventId, acceptedAt }));
  return isOvertaking
    ? { most: 0, againInMs: OLDER_EVENT_WAKE_UP_MS }
    : { most: 1, only: eventId, againInMs };
}

export interface RestoreDeliveryContext {
  readonly deliveryStore: Pick<DeliveryStore, 'readSummary'>;
  readonly deliveryQueue: Pick<DeliveryQueue, 'addAll'>;
  readonly admissionStore: Pick<AdmissionStore, 'leaveOrder'>;
}

/** Gives a delivery that all others of its endpoint wait for a job, or takes it out of their way if it has ended. */
async function restoreDelivery(
  { deliveryStore, deliveryQueue, admissionStore }: RestoreDeliveryContext,
  { accountId, endpointId }: EndpointAddress,
  eventId: EventId,
): Promise<void> {
  const { isOpen } = await deliveryStore.readSummary(endpointId, eventId);
  if (isOpen) await deliveryQueue.addAll([{ accountId, endpointId, eventId }]);
  else await admissionStore.leaveOrder(endpointId, eventId);
}
