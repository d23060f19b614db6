import { setTimeout as wait } from 'node:timers/promises';
import type { AuditLog } from '../accounts/audit/redis-audit-log';
import type { AccountId } from '../domain/account';
import type { Act } from '../domain/audit';
import { type DeliveryParts, deliveryIdOf, type NewDelivery, type RequestTrigger } from '../domain/delivery';
import { type DeliveryState, FULL_LOG_BYTES } from '../domain/delivery-log';
import { type Endpoint, findLane, lineOf, placeInOrder } from '../domain/endpoint';
import { type EventId, eventNotFound } from '../domain/event';
import type { Emit } from '../domain/signal';
import { ATTEMPT_BYTES, type NoteUsage } from '../domain/usage';
import type { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import { mayDiscard } from '../endpoints/discard';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { VerificationPolicy } from '../endpoints/verification/verify';
import type { DeliveryStore, LogLength, ReadDelivery } from '../events/redis-delivery-store';
import type { EventStore } from '../events/redis-event-store';
import type { Deliveries, DeliveryWithAttempts } from '../history/deliveries';
import type { DeliveryKey } from '../history/history-source';
import type { Rehydration } from '../history/mover/rehydration';
import type { WholeHistory } from '../history/whole-history';
import { AppError } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import type { Atomic } from '../platform/redis-atomic';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';

export interface RedeliveryParts {
  readonly endpointStore: EndpointStore;
  readonly eventStore: EventStore;
  readonly deliveryStore: DeliveryStore;
  readonly deliveryQueue: DeliveryQueue;
  readonly heldDeliveries: HeldDeliveries;
  readonly besideLanes: BesideLanes;
  readonly verificationPolicy: VerificationPolicy;
  readonly history: WholeHistory;
  readonly deliveries: Deliveries;
  /** Absent: there is no history that deliveries move to. */
  readonly rehydration?: Rehydration | undefined;
  readonly auditLog: AuditLog;
  /** Absent: usage is not counted. */
  readonly noteUsage?: NoteUsage | undefined;
  /** It runs scripts on the Redis of these stores. */
  readonly atomic: Atomic;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** A request to send a delivery. */
export interface RedeliveryRequest extends DeliveryParts {
  readonly accountId: AccountId;
  /** When the event was accepted. Milliseconds since the Unix epoch. */
  readonly acceptedAt: number;
  readonly trigger: RequestTrigger;
  /** The same when the same request is repeated: then nothing is sent a second time. */
  readonly requestId: string;
  /** Whether it goes into a lane. The worker decides if that is not known here. */
  readonly isInLane?: boolean | undefined;
  /** Of that lane: see `lineOf`. */
  readonly line?: string | undefined;
  /** Whether that lane's deliveries go in batches, and need not wait for each other. */
  readonly isInBatches?: boolean | undefined;
}

export type RequestOutcome =
  /** It will be sent, or this request has sent it already. */
  | 'requested'
  /** It is pending anyway, and has its job. */
  | 'on_its_way'
  /** The delivery has just ended, and its job is about to: until then it can't be sent once more. */
  | 'ending'
  /** It was sent so often that its log is full: it is not sent again. */
  | 'full';

export type BroughtForward =
  /** Its next attempt comes now, at this request. Or this request has made it already. */
  | 'soon'
  /** It was due already, or has ended: another request, or none, sends it. */
  | 'on_its_way'
  /** Its attempt has just failed, and its job is being put back: until then it can't be brought forward. */
  | 'ending'
  /** Its log is full: its next attempt comes when it is due. */
  | 'full';

interface Brought extends ReadDelivery {
  readonly outcome: BroughtForward;
  /** Whether its job may have failed for good. */
  readonly mayHaveFailed: boolean;
}

// A job ends within milliseconds of its attempt, unless Redis or the machine is overloaded.
const TRIES = 20;
const EVERY_MS = 50;

/** Sends deliveries once more. */
export class Redelivery {
  constructor(private readonly parts: RedeliveryParts) {}

  /**
   * Send a delivery once more, now, however it ended. A delivery on its way is brought forward. While an
   * attempt is ending neither is possible: it waits for that up to a second.
   *
   * @param requestId the same when the same request is repeated.
   * @throws AppError `not_found`, also when its event or its endpoint is gone; `conflict` when it waited in
   *   vain; `payload_erased` when nothing is left to send; `limit_reached` when it was sent too often;
   *   `history_unavailable` when it has moved, and can't be read.
   */
  async redeliver(
    accountId: AccountId,
    id: string,
    requestId: string,
    act?: Act,
  ): Promise<DeliveryWithAttempts> {
    const { history, deliveries, auditLog, besideLanes, atomic } = this.parts;
    const { endpointId, eventId, createdAt: acceptedAt } = await deliveries.read(accountId, id);
    const head = await history.findHead(accountId, eventId);
    if (!head) throw eventNotFound();
    if (head.erasedAt !== undefined) {
      throw new AppError(
        'payload_erased',
        "The event's payload was erased: there is nothing to send any more.",
      );
    }
    const endpoint = await this.parts.endpointStore.find(accountId, endpointId);
    const request = {
      accountId,
      endpointId,
      eventId,
      acceptedAt,
      ...(endpoint ? this.placeInLane(endpoint, head.group) : { isInLane: false }),
      trigger: 'manual',
      requestId,
    } as const;
    // What waits for it must not go before it. A place that is left without a job is removed when the lanes are looked at.
    const place = endpoint && !request.isInLane ? placeInOrder(endpoint, head.group) : undefined;
    if (place) await atomic([besideLanes.join(endpointId, [{ eventId, acceptedAt, ...place }])]);
    // First: from the next step on a worker may send it.
    if (act) await auditLog.record({ act, accountId, targetId: id });
    await this.#whileRehydrated(accountId, [request], () => this.#sendWhenPossible(request));
    return await deliveries.read(accountId, id);
  }

  /** Whether what is requested for an endpoint becomes an entry of a lane, and of which. */
  placeInLane(
    endpoint: Endpoint,
    group: string | undefined,
  ): Pick<RedeliveryRequest, 'isInLane' | 'line' | 'isInBatches'> & { readonly isInLane: boolean } {
    if (findLane(endpoint, group) === undefined) return { isInLane: false };
    return { isInLane: true, line: lineOf(endpoint, group), isInBatches: endpoint.ordering === 'none' };
  }

  async #sendWhenPossible(request: RedeliveryRequest): Promise<void> {
    for (let tries = 1; (await this.#sendNow(request)) === 'ending'; tries += 1) {
      if (tries === TRIES) {
        throw new AppError('conflict', 'An attempt of the delivery has just ended. Try again in a moment.');
      }
      await wait(EVERY_MS);
    }
  }

  // Bring it forward even when the result is `requested`: the same request may have broken off before that step.
  async #sendNow(request: RedeliveryRequest): Promise<Exclude<BroughtForward, 'full'>> {
    const outcome = await this.request(request);
    const sent = outcome === 'ending' || outcome === 'full' ? outcome : await this.bringForward(request);
    if (sent === 'full') {
      throw new AppError(
        'limit_reached',
        'The delivery was sent so often that its record is full (1 MiB). Publish a new event.',
      );
    }
    return sent;
  }

  /**
   * Send a delivery that is on its way now, before it is due. The same job makes the attempt that was due next,
   * so there are never two at once. If it fails, the schedule continues after it.
   */
  async bringForward(request: RedeliveryRequest): Promise<BroughtForward> {
    const [brought] = await this.#bringEachForward([request]);
    return (brought as Brought).outcome;
  }

  /**
   * Make the next attempts of deliveries of an endpoint on their way now, as {@link bringForward} does, also of those whose jobs have
   * failed for good. What has ended meanwhile stays so. Others that go in one request with them have the request as well, and so are
   * known when they are asked for later. Pass no more than some hundreds.
   */
  async bringAllForward(requests: readonly RedeliveryRequest[]): Promise<readonly RequestOutcome[]> {
    const [first] = requests;
    if (!first) return [];
    const asked = requests.map(({ eventId }) => eventId);
    const others = await this.parts.deliveryQueue.findTogether(first.endpointId, asked);
    const along = others.map((eventId) => ({ ...first, eventId }));
    const brought = await this.#bringEachForward([...requests, ...along]);
    return await Promise.all(
      requests.map(async (request, i) => {
        const { outcome, mayHaveFailed, state, length } = brought[i] as Brought;
        if (outcome === 'ending' || outcome === 'full') return outcome;
        if (mayHaveFailed) await this.parts.deliveryQueue.putBackFailed(request);
        if (outcome === 'soon') return 'requested';
        const isKept = !state.isOpen || (await this.#keepFromDiscard(request, state, length));
        return isKept ? 'on_its_way' : 'ending';
      }),
    );
  }

  /**
   * The record comes first, since a job that runs before its delivery is due is put back. When it breaks off in
   * between, the job runs at its usual time, or when the request is repeated.
   */
  async #bringEachForward(requests: readonly RedeliveryRequest[]): Promise<readonly Brought[]> {
    const { deliveryStore, deliveryQueue, clock } = this.parts;
    const [first] = requests;
    if (!first) return [];
    const { endpointId, requestId, trigger } = first;
    const now = clock();
    const read = await deliveryStore.readEachWithLength(requests);
    const all = requests.map((request, i) => toBring(request, read[i] as ReadDelivery, now));
    const later = all.filter(({ standing }) => standing === 'later');
    const running = await deliveryQueue.findRunning(endpointId, eventIdsOf(later));
    const idle = later.filter(({ delivery: { eventId } }) => !running.has(eventId));
    const fact = { kind: 'requested', requestId, trigger, requestedAt: now } as const;
    const recorded = (await deliveryStore.appendToUnchanged(idle, fact)).flatMap(
      (place) => idle[place] ?? [],
    );
    for (const { delivery } of recorded) this.#announce(delivery, trigger);
    const due = all.filter(({ standing }) => standing === 'due');
    const toSend = eventIdsOf([...recorded, ...due]);
    const heads = await deliveryQueue.findHeads(endpointId, toSend);
    await this.#bringEachForward([...heads].map((eventId) => ({ ...first, eventId })));
    const promoted = await deliveryQueue.promote(endpointId, toSend);
    // Another line was appended since.
    const changed = idle.filter((each) => !recorded.includes(each));
    const again = await this.#bringEachForward(changed.map(({ delivery }) => delivery));
    return all.map((each) => {
      const { standing, delivery, isKnown, state, length } = each;
      const brought = { state, length, mayHaveFailed: promoted.haveFailed.has(delivery.eventId) };
      if (standing === 'full') return { ...brought, outcome: 'full' };
      if (standing === 'made') return { ...brought, mayHaveFailed: true, outcome: 'soon' };
      if (standing === 'due') return { ...brought, outcome: isKnown ? 'soon' : 'on_its_way' };
      if (running.has(delivery.eventId)) return { ...brought, outcome: 'ending' };
      // A worker may have taken the job too early, and not know that it is due now: it is about to put it back.
      const isTaken = promoted.running.has(delivery.eventId);
      return again[changed.indexOf(each)] ?? { ...brought, outcome: isTaken ? 'ending' : 'soon' };
    });
  }

  /**
   * Send events of an account to endpoints once more, or for the first time, with all of them in Redis. The jobs
   * are added as one batch: pass no more than some hundreds.
   *
   * @throws AppError `history_unavailable` when some have moved, and can't be read.
   */
  async requestAll(
    accountId: AccountId,
    requests: readonly RedeliveryRequest[],
  ): Promise<readonly RequestOutcome[]> {
    return await this.#whileRehydrated(accountId, requests, () => this.#requestEach(requests));
  }

  async #whileRehydrated<Result>(
    accountId: AccountId,
    requests: readonly RedeliveryRequest[],
    work: () => Promise<Result>,
  ): Promise<Result> {
    const { rehydration } = this.parts;
    return rehydration
      ? await rehydration.whileRehydrated(accountId, requests.map(keyOf), work)
      : await work();
  }

  /** Request a delivery that is in Redis. */
  async request(request: RedeliveryRequest): Promise<RequestOutcome> {
    const [outcome = 'ending'] = await this.#requestEach([request]);
    return outcome;
  }

  /**
   * Each delivery is open again and has a job. Its endpoint's limits apply as usual.
   *
   * The job comes first, and carries the request: a delivery that is recorded as open has a job from the first
   * moment. When it breaks off in between, the job records the request when it runs.
   */
  async #requestEach(requests: readonly RedeliveryRequest[]): Promise<readonly RequestOutcome[]> {
    const { deliveryQueue, clock } = this.parts;
    const known = await Promise.all(requests.map((request) => this.#alreadyKnown(request)));
    const wanted = requests.filter((_, i) => known[i] === undefined);
    if (wanted.length > 0) {
      await deliveryQueue.addRequested(wanted.map((request) => requestedAt(request, clock())));
    }
    return await Promise.all(requests.map(async (request, i) => known[i] ?? (await this.#conclude(request))));
  }

  async #alreadyKnown({
    endpointId,
    eventId,
    requestId,
  }: RedeliveryRequest): Promise<RequestOutcome | undefined> {
    const { state, length } = await this.parts.deliveryStore.readWithLength(endpointId, eventId);
    if (state.requestIds.includes(requestId)) return 'requested';
    return length >= FULL_LOG_BYTES ? 'full' : undefined;
  }

  /**
   * Find out which request the existing job belongs to, and record this request if it is this one's.
   *
   * @param refused the length at which the log took no line.
   */
  async #conclude(request: RedeliveryRequest, refused?: LogLength): Promise<RequestOutcome> {
    const { deliveryStore, deliveryQueue, noteUsage, clock } = this.parts;
    const { accountId, endpointId, eventId, requestId, trigger } = request;
    const job = await deliveryQueue.requestOf(request);
    const { state, length } = await deliveryStore.readWithLength(endpointId, eventId);
    if (state.requestIds.includes(requestId)) return await this.#enlist(request);
    // It has not changed since: it lapses.
    if (job === 'no_job' || length === refused) return 'ending';
    const fact = { kind: 'requested', requestId, trigger, requestedAt: clock() } as const;
    if (job === 'no_request' || job.requestId !== requestId) {
      // Spares the operator: the delivery is sent, or, if it has ended, its job is soon gone.
      await deliveryQueue.putBackFailed(request);
      if (!state.isOpen) return 'ending';
      const isKept = await this.#keepFromDiscard(request, state, length);
      return isKept ? 'on_its_way' : await this.#conclude(request, length);
    }
    if (!(await deliveryStore.appendIfUnchanged(request, fact, length)))
      return await this.#conclude(request, length);
    noteUsage?.(accountId, 'deliveries', ATTEMPT_BYTES);
    this.#announce(request, trigger);
    return await this.#enlist(request);
  }

  /** Record the request of an open delivery that may be discarded. Gives `false` if the record has changed meanwhile. */
  async #keepFromDiscard(
    request: RedeliveryRequest,
    state: DeliveryState,
    length: LogLength,
  ): Promise<boolean> {
    const { requestId, trigger } = request;
    const isKnown = state.requestIds.includes(requestId);
    if (isKnown || !(await this.#mayBeDiscarded(request, state))) return true;
    const fact = { kind: 'requested', requestId, trigger, requestedAt: this.parts.clock() } as const;
    if (!(await this.parts.deliveryStore.appendIfUnchanged(request, fact, length))) return false;
    this.#announce(request, trigger);
    return true;
  }

  /** Whether a delivery that is due may end before it is sent, unless its record has the request. */
  async #mayBeDiscarded(
    { accountId, endpointId }: RedeliveryRequest,
    { nextAttemptAt = 0 }: DeliveryState,
  ): Promise<boolean> {
    const { endpointStore, clock } = this.parts;
    if (nextAttemptAt > clock()) return false;
    const endpoint = await endpointStore.find(accountId, endpointId);
    return endpoint !== undefined && mayDiscard(endpoint);
  }

  async #enlist({ accountId, endpointId, eventId, acceptedAt }: RedeliveryRequest): Promise<'requested'> {
    const { eventStore, deliveryStore, atomic } = this.parts;
    await atomic([
      deliveryStore.enlistAll([{ accountId, endpointId, marks: [{ eventId, createdAt: acceptedAt }] }]),
      eventStore.addReceivers(accountId, eventId, [endpointId]),
    ]);
    return 'requested';
  }

  /** Announce that a client requested a delivery. */
  #announce({ accountId, endpointId, eventId }: NewDelivery, trigger: RequestTrigger): void {
    const deliveryId = deliveryIdOf({ endpointId, eventId });
    this.parts.emit({ name: 'delivery.requested', deliveryId, accountId, endpointId, eventId, trigger });
  }
}

/** A delivery that is to be brought forward. */
interface ToBring extends ReadDelivery {
  readonly delivery: RedeliveryRequest;
  /** `made`: at this request, and its next attempt is a later one. */
  readonly standing: 'due' | 'later' | 'made' | 'full';
  /** Whether its record has this request. */
  readonly isKnown: boolean;
}

function toBring(delivery: RedeliveryRequest, { state, length }: ReadDelivery, now: number): ToBring {
  const isKnown = state.requestIds.includes(delivery.requestId);
  const known = { delivery, state, length, isKnown };
  if (state.nextAttemptAt === undefined || state.nextAttemptAt <= now) return { ...known, standing: 'due' };
  if (isKnown) return { ...known, standing: 'made' };
  return { ...known, standing: length >= FULL_LOG_BYTES ? 'full' : 'later' };
}

function eventIdsOf(all: readonly ToBring[]): readonly EventId[] {
  return all.map(({ delivery }) => delivery.eventId);
}

function keyOf({ eventId, endpointId, acceptedAt: createdAt }: RedeliveryRequest): DeliveryKey {
  return { eventId, endpointId, createdAt };
}

function requestedAt(
  {
    accountId,
    endpointId,
    eventId,
    acceptedAt,
    isInLane,
    line,
    isInBatches,
    requestId,
    trigger,
  }: RedeliveryRequest,
  now: number,
) {
  const request = { requestId, trigger, requestedAt: now };
  const delivery = { accountId, endpointId, eventId, request };
  return isInLane ? { ...delivery, acceptedAt, isInLane, line, isInBatches } : delivery;
}
