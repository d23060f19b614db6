import { createHash } from 'node:crypto';
import { type DeliveryBatch, type DeliveryRun, isBefore, type MemberEnd } from '../domain/delivery';
import { type BatchLimits, batchLimitsOf } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { eventsOfAttempt } from '../endpoints/operational-events';
import { isUnreadableSecret } from '../endpoints/seal';
import { isUnavailable } from '../platform/redis-errors';
import type { Step } from '../platform/redis-script';
import { type Admitted, admit, admitToBatch, hold, waitUntilFull } from './admit';
import { announceAttempt, conclude } from './after-attempt';
import { batchContentOf, itemOf } from './cloudevents';
import { type Decision, decideNext } from './decide-next';
import {
  AGAIN_AT_ONCE,
  coalesce,
  type DeliverResult,
  DONE,
  hasChanged,
  letGo,
  putOffUnsent,
  resultOf,
  wakeOthers,
  withdraw,
} from './end-run';
import { lookOutside } from './lane';
import { loadDelivery, type ReadyDelivery } from './load-delivery';
import type { AttemptParts } from './open-delivery';
import { type BatchDelivery, readBatchResponse } from './read-batch-response';
import { persistFor, type RecordedAttempt, recordAttempt } from './record-attempt';
import { recordTogether } from './record-together';
import { type SentAttempt, sendAttempt } from './send-attempt';
import { type TransformedDelivery, transformEvent } from './transform-event';

/** A delivery that is ready to go in the request. */
interface PreparedDelivery extends BatchDelivery {
  /** The text of its event in the body. */
  readonly item: string;
}

type End = MemberEnd['end'];

const ENDED: End = { kind: 'done' };
const ALONE: End = { kind: 'alone' };
/** For a batch that there is. */
const ALL = { most: Number.MAX_SAFE_INTEGER, maxBytes: Number.MAX_SAFE_INTEGER, isInOrder: false };
const TOO_LARGE = 413;
// Room for the ids of a hundred events, whatever else is around them.
const RESPONSE_BYTES = 64 * 1024;
// Those that failed together are due together, by the clock of the worker that recorded it.
const DUE_WITHIN_MS = 1_000;

/**
 * Send the first delivery of a lane together with others of it. Each keeps its record, and all have one job from then on: one
 * script records all of them, and lets go of it. If this process dies before, they go together again, in a request with the same
 * id and the same bytes.
 *
 * A delivery with a job of its own goes in a request for itself.
 */
export async function deliverBatch(
  parts: AttemptParts,
  primary: ReadyDelivery,
  limits: BatchLimits,
  abortSignal: AbortSignal,
): Promise<DeliverResult> {
  const held = await waitForOthers(parts, primary, limits);
  if (held) return held;
  const admission = await admit(parts, primary);
  if (admission.kind === 'refused') return { kind: 'later', delayMs: await hold(parts, primary, admission) };
  if (admission.kind !== 'admitted') return await coalesce(parts, primary, admission);
  const batch = new Batch(parts, primary, admission, limits, abortSignal);
  return await batch.deliver(() => batch.gather());
}

/** Send a batch that was not sent, or not delivered, once more. */
export async function deliverBatchAgain(
  parts: AttemptParts,
  batch: DeliveryBatch,
  abortSignal: AbortSignal,
): Promise<DeliverResult> {
  const ends = new Map<EventId, End>();
  const runs = await batch.gather(ALL);
  const ready = await loadWhole(parts, runs, ends);
  const [primary] = ready;
  const limits = primary && batchLimitsOf(primary.endpoint);
  if (primary && limits && primary.endpoint.ordering === 'none') {
    const admission = await admit(parts, primary);
    if (admission.kind === 'admitted') {
      const again = new Batch(parts, primary, admission, limits, abortSignal, ends);
      return await again.deliver(async () => ready);
    }
    const isRefused = admission.kind === 'refused';
    const delayMs = isRefused ? await hold(parts, primary, admission, ready) : 0;
    for (const { event } of ready) ends.set(event.id, { kind: 'delayed', delayMs });
  } else {
    // Its webhook has no batches any more, or an order.
    for (const { event } of ready) ends.set(event.id, ALONE);
  }
  const steps = batch.stepsToEnd([...ends].map(([eventId, end]) => ({ eventId, end })));
  if (steps.length > 0) await parts.atomic(steps);
  const [first] = runs;
  if (!primary && first) wakeOthers(parts, first);
  return DONE;
}

/** Hold the lane until its first one has waited for long enough, or enough are in it. */
async function waitForOthers(
  parts: AttemptParts,
  primary: ReadyDelivery,
  { maxEvents, maxWaitMs }: BatchLimits,
): Promise<DeliverResult | undefined> {
  const { run, endpoint, begunAt, scheduledAttempt, wasDelivered } = primary;
  const wakeUpAt = begunAt + maxWaitMs;
  const isNew = scheduledAttempt === 1 && !wasDelivered;
  const now = parts.clock();
  if (!run.lane || !run.batch || !isNew || endpoint.status === 'disabled') return undefined;
  // The clock of Redis may have been set back.
  if (now >= wakeUpAt || begunAt - now > maxWaitMs) return undefined;
  const refusal = { kind: 'refused', reason: 'batching', wakeUpAt } as const;
  const delayMs = await waitUntilFull(parts, primary, run.lane, refusal, maxEvents);
  return delayMs === undefined ? undefined : { kind: 'later', delayMs };
}

/** Those that can be sent. The others have ended, are not due, or can't be read: those go alone, and fail alone. */
async function loadAll(
  parts: AttemptParts,
  runs: readonly DeliveryRun[],
  ends: Map<EventId, End>,
  known?: ReadyDelivery,
  earlyMs = DUE_WITHIN_MS,
): Promise<readonly ReadyDelivery[]> {
  const loaded = await Promise.allSettled(
    runs.map(async (run) =>
      run.eventId === known?.event.id ? { ...known, run } : await loadDelivery(parts, run, earlyMs),
    ),
  );
  const now = parts.clock();
  const ready: ReadyDelivery[] = [];
  for (const [i, each] of loaded.entries()) {
    const eventId = runs[i]?.eventId as EventId;
    if (each.status === 'rejected') {
      if (runs.length === 1 || isOfAll(each.reason)) throw each.reason;
      ends.set(eventId, ALONE);
    } else if (each.value.kind === 'ready') ready.push(each.value);
    else if (each.value.kind === 'ended') ends.set(eventId, ENDED);
    else ends.set(eventId, { kind: 'delayed', delayMs: Math.max(each.value.dueAt - now, 0) });
  }
  return ready;
}

/**
 * As `loadAll`, of deliveries that went together. Once one of them is due, all are: the request that has brought its attempt forward
 * may have named only some.
 */
async function loadWhole(
  parts: AttemptParts,
  runs: readonly DeliveryRun[],
  ends: Map<EventId, End>,
  known?: ReadyDelivery,
): Promise<readonly ReadyDelivery[]> {
  const ready = await loadAll(parts, runs, ends, known);
  const early = runs.filter(({ eventId }) => ends.get(eventId)?.kind === 'delayed');
  if (ready.length === 0 || early.length === 0) return ready;
  for (const { eventId } of early) ends.delete(eventId);
  const others = await loadAll(parts, early, ends, undefined, Number.POSITIVE_INFINITY);
  const all = new Map([...ready, ...others].map((each) => [each.event.id, each]));
  return runs.flatMap(({ eventId }) => all.get(eventId) ?? []);
}

function isOfAll(error: unknown): boolean {
  return isUnavailable(error) || isUnreadableSecret(error);
}

/** One request, from its possible deliveries to the result of each. */
class Batch {
  /** The keys of events counted for the rate limit that no record has used yet. */
  readonly #keys = new Set<string>();
  /** Those that go in a second request, as one was too large. */
  readonly #second = new Set<EventId>();

  constructor(
    private readonly parts: AttemptParts,
    private primary: ReadyDelivery,
    private readonly admitted: Admitted,
    private readonly limits: BatchLimits,
    private readonly abortSignal: AbortSignal,
    /** What becomes of each that was gathered. */
    private readonly ends = new Map<EventId, End>(),
  ) {}

  async deliver(gather: () => Promise<readonly ReadyDelivery[]>): Promise<DeliverResult> {
    const { parts, admitted } = this;
    if (admitted.attemptKey !== undefined) this.#keys.add(admitted.attemptKey);
    let prepared: readonly PreparedDelivery[] = [];
    try {
      const gathered = await gather();
      // Those that do not go now go as if they had not been gathered.
      for (const { event } of gathered) this.ends.set(event.id, ALONE);
      const next = await this.#inOrder(await this.#unchanged(gathered));
      prepared = await this.#keptTogether(this.#fitting(await this.#transformAll(await this.#counted(next))));
    } finally {
      if (prepared.length === 0) parts.concurrency.releasePermit(admitted.permit, undefined);
    }
    const result = prepared.length > 0 ? await this.#send(prepared) : undefined;
    await this.#withdraw(prepared.length === 0 && admitted.isProbe);
    if (result) return result;
    // Nothing was sent.
    const areAllOver = [...this.ends.values()].every(({ kind }) => kind === 'done');
    if (prepared.length === 0 && areAllOver) wakeOthers(parts, this.primary.run);
    return await this.#finish();
  }

  /** The deliveries that can go now. */
  async gather(): Promise<readonly ReadyDelivery[]> {
    const { primary, parts, limits } = this;
    const { run } = primary;
    if (!run.batch) return [primary];
    const most = parts.batchSizes.mostOf(run.endpointId, limits.maxEvents, parts.clock());
    const isInOrder = primary.endpoint.ordering !== 'none';
    const wanted = {
      most: Math.min(most, await this.#mostCounted()),
      maxBytes: limits.maxBytes,
      isInOrder,
    };
    const { lane } = run;
    const runs = await run.batch.gather(wanted);
    // In an order, those that went together stay at the head of their lane.
    const load = isInOrder && lane?.wentTogether ? loadWhole : loadAll;
    const loaded = await load(parts, runs, this.ends, primary);
    const ready = isInOrder ? this.#withoutGap(runs, loaded) : loaded;
    // From now on it is in the batch.
    this.primary = ready[0] ?? primary;
    return ready;
  }

  /** In an order: those before the first one that has to wait. What is behind that stays where it is. */
  #withoutGap(runs: readonly DeliveryRun[], ready: readonly ReadyDelivery[]): readonly ReadyDelivery[] {
    const gap = runs.findIndex(({ eventId }) => (this.ends.get(eventId) ?? ENDED).kind !== 'done');
    if (gap === -1) return ready;
    const behind = new Set(runs.slice(gap).map(({ eventId }) => eventId));
    for (const eventId of behind) this.ends.set(eventId, ALONE);
    return ready.filter(({ event }) => !behind.has(event.id));
  }

  async #finish(): Promise<DeliverResult> {
    const { parts, primary, ends } = this;
    const { run } = primary;
    if (run.batch) {
      const steps = this.#stepsToEnd([]);
      if (steps.length > 0) await parts.atomic(steps);
    }
    return run.batch ? DONE : resultOfEnd(ends.get(run.eventId) ?? ALONE);
  }

  /** @param sent what becomes of those that were in the request, if that is not noted yet. */
  #stepsToEnd(sent: readonly MemberEnd[]): readonly Step[] {
    const { batch, eventId: own, stepsToEnd } = this.primary.run;
    const all = new Map([...this.ends, ...sent.map(({ eventId, end }) => [eventId, end] as const)]);
    if (!batch) {
      const end = all.get(own);
      return end === undefined || end.kind === 'alone' ? [] : (stepsToEnd?.(end) ?? []);
    }
    return batch.stepsToEnd(
      [...all].map(([eventId, end]) => ({ eventId, end, isInSecond: this.#second.has(eventId) })),
    );
  }

  /** Give back the counts that no record has used. */
  async #withdraw(isProbe: boolean): Promise<void> {
    const keys = isProbe && this.#keys.size === 0 ? [undefined] : [...this.#keys];
    this.#keys.clear();
    for (const [i, attemptKey] of keys.entries()) {
      const admitted = { ...this.admitted, attemptKey, isProbe: isProbe && i === 0 };
      await withdraw(this.parts, this.primary, admitted);
    }
  }

  // An earlier worker of this job may have recorded its attempt at this moment.
  async #unchanged(all: readonly ReadyDelivery[]): Promise<readonly ReadyDelivery[]> {
    if (!all.some(({ run }) => run.wasTakenOver)) return all;
    const changed = await Promise.all(
      all.map(async (each) => each.run.wasTakenOver && (await hasChanged(this.parts, each))),
    );
    if (this.primary.endpoint.ordering === 'none') return all.filter((_, i) => !changed[i]);
    // It may be open still: none goes before it.
    const first = changed.indexOf(true);
    return first === -1 ? all : all.slice(0, first);
  }

  /** In an order, none goes before an older event that is still to be fanned out, or that has a job of its own. */
  async #inOrder(all: readonly ReadyDelivery[]): Promise<readonly ReadyDelivery[]> {
    const { parts, primary } = this;
    const { lane } = primary.run;
    const last = all.at(-1);
    if (!lane || lane.wentTogether || !last || all.length < 2) return all;
    const { accountId, id, acceptedAt } = last.event;
    const asked = { accountId, id, acceptedAt: Math.max(acceptedAt, placeOf(last)) };
    if (await parts.oldestEvents.hasOlder(asked)) return all.slice(0, 1);
    // What these have brought meanwhile is beside the lane by now, or in it.
    const { first } = await lookOutside(parts, primary.run, lane);
    if (!first) return all;
    const isOlder = (each: ReadyDelivery) =>
      isBefore({ eventId: each.event.id, acceptedAt: placeOf(each) }, first);
    return untilFirst(all, (each) => each === all[0] || isOlder(each));
  }

  get #countsEvents(): boolean {
    const { rateLimit, rateLimitUnit } = this.primary.endpoint;
    return rateLimit !== undefined && rateLimitUnit === 'events';
  }

  /** How many the rate limit has room for, the one that is admitted included. */
  async #mostCounted(): Promise<number> {
    if (!this.#countsEvents) return Number.POSITIVE_INFINITY;
    const { id, rateLimit } = this.primary.endpoint;
    return (await this.parts.admissionStore.stand(id, rateLimit)).rate.free + 1;
  }

  /** If the rate limit counts events: the deliveries for which it has room. The first one was admitted. */
  async #counted([first, ...others]: readonly ReadyDelivery[]): Promise<readonly BatchDelivery[]> {
    if (first === undefined) return [];
    const all = [first, ...others];
    if (!this.#countsEvents) return all.map((ready) => ({ ready, attemptKey: undefined }));
    const more = await Promise.all(others.map((ready) => admitToBatch(this.parts, ready)));
    const keys = [this.admitted.attemptKey, ...more];
    for (const key of more) if (key !== undefined) this.#keys.add(key);
    return untilFirst(
      all.map((ready, i) => ({ ready, attemptKey: keys[i] })),
      ({ attemptKey }) => attemptKey !== undefined,
    );
  }

  /** In an order, no delivery goes before one that has failed. */
  async #transformAll(deliveries: readonly BatchDelivery[]): Promise<readonly PreparedDelivery[]> {
    const { parts, primary } = this;
    const isToBeMade = deliveries.some(({ ready }) => ready.transformWith !== undefined);
    const made = isToBeMade
      ? await Promise.all(deliveries.map(({ ready }) => transformEvent(parts, ready)))
      : deliveries.map(({ ready }) => ready);
    const style = parts.requestStyle.cloudEvents;
    const prepared: PreparedDelivery[] = [];
    for (const [i, transformed] of made.entries()) {
      const delivery = deliveries[i];
      if (delivery === undefined) continue;
      if (transformed.kind === 'ready') {
        prepared.push({ ...delivery, ready: transformed, item: itemOf(transformed, style) });
      } else {
        this.#note([delivery], await this.#resultUnsent(delivery.ready, transformed));
        if (primary.endpoint.ordering !== 'none' && transformed.kind !== 'ended') break;
      }
    }
    return prepared;
  }

  /** As many as fit into the limit of bytes, but at least one. */
  #fitting(prepared: readonly PreparedDelivery[]): readonly PreparedDelivery[] {
    let bytes = 0;
    return untilFirst(prepared, ({ item }) => {
      const isOnly = bytes === 0;
      bytes += Buffer.byteLength(item) + 1;
      return isOnly || bytes <= this.limits.maxBytes;
    });
  }

  /**
   * In an order: should this worker die, these go together, and no others. The first one goes alone if an older event has come between
   * them: it was fanned out after the lane was read, and before older events were looked for.
   */
  async #keptTogether(prepared: readonly PreparedDelivery[]): Promise<readonly PreparedDelivery[]> {
    const { lane, batch } = this.primary.run;
    if (!batch || !lane || lane.wentTogether || prepared.length < 2) return prepared;
    const events = prepared.map(({ ready }) => ready.event.id);
    const areTogether = await batch.keepTogether(events, [...this.ends.keys()]);
    return areTogether ? prepared : prepared.slice(0, 1);
  }

  /** Gives the result of the run if the batch stays as it is. */
  async #send(prepared: readonly PreparedDelivery[]): Promise<DeliverResult | undefined> {
    const { parts, primary, admitted, abortSignal } = this;
    // In an order they are in that of their lane already.
    const isInLane = primary.endpoint.ordering !== 'none';
    const sorted = isInLane ? prepared : prepared.toSorted((a, b) => byAcceptance(a.ready, b.ready));
    const [oldest = primary] = sorted.map(({ ready }) => ready);
    const batchId = batchIdOf(sorted);
    const batch = {
      id: batchId,
      content: batchContentOf(
        sorted.map(({ item }) => item),
        oldest.endpoint.format,
      ),
      deliveries: sorted.map(({ ready }) => ready),
      isTest: sorted.every(({ ready }) => ready.isTest),
      responseBytes: RESPONSE_BYTES,
    };
    const sent = await sendAttempt(parts, oldest, admitted.permit, abortSignal, batch);
    if (sent.kind !== 'sent') {
      if (admitted.attemptKey !== undefined) this.#keys.delete(admitted.attemptKey);
      const result = await letGo(parts, oldest, admitted, sent, batch.deliveries);
      if (result.kind === 'interrupted') return result;
      this.#note(sorted, result);
    } else if (sent.attempt.responseStatus === TOO_LARGE && sorted.length > 1) await this.#halve(sorted);
    else await this.#record(sorted, sent, batchId);
    return undefined;
  }

  #note(deliveries: readonly BatchDelivery[], result: DeliverResult): void {
    for (const { ready } of deliveries) this.ends.set(ready.event.id, endOf(result));
  }

  /** Nothing is recorded, and no attempt used: the halves are new requests. */
  async #halve(sorted: readonly PreparedDelivery[]): Promise<void> {
    const { parts, primary, admitted } = this;
    const { accountId, endpointId } = primary.run;
    const half = Math.ceil(sorted.length / 2);
    parts.batchSizes.halve(endpointId, half, parts.clock());
    this.#note(sorted, AGAIN_AT_ONCE);
    for (const { ready } of sorted.slice(half)) this.#second.add(ready.event.id);
    await this.#withdraw(admitted.isProbe);
    parts.emit({ name: 'delivery.batch_halved', accountId, endpointId, events: sorted.length });
  }

  async #record(sorted: readonly PreparedDelivery[], sent: SentAttempt, batchId: EventId): Promise<void> {
    const { parts, abortSignal } = this;
    const ends = readBatchResponse(parts, sorted, sent, batchId);
    const [representative] = ends;
    if (representative === undefined) return;
    const hasEnded = ends.some(({ decision }) => decision.kind !== 'retry');
    const inputs = ends.map(({ delivery, sent: { attempt }, decision }) => {
      const isOwn = delivery === representative.delivery && !this.#countsEvents;
      const attemptKey = isOwn ? this.admitted.attemptKey : delivery.attemptKey;
      if (attemptKey !== undefined) this.#keys.delete(attemptKey);
      return { ready: delivery.ready, attempt, decision, attemptKey };
    });
    const together = {
      inputs,
      stepsToEnd: (recorded: readonly MemberEnd[]) => this.#stepsToEnd(recorded),
    };
    const { run } = representative.delivery.ready;
    const recorded = await persistFor(parts, run, () => recordTogether(parts, together), abortSignal);
    const endings = ends.map(async (end) => {
      const { ready } = end.delivery;
      const own = recorded.get(ready.event.id);
      if (own === undefined) return;
      this.#note([end.delivery], resultOf(parts, end.sent, own));
      if (end !== representative) this.#concludeWithoutEffects(ready, end.sent, end.decision, own);
      else await conclude(parts, ready, end.sent, end.decision, own, abortSignal, hasEnded);
    });
    await Promise.all(endings);
  }

  /** The effects of a request on the endpoint follow for one delivery, and where nothing was sent there are none. */
  #concludeWithoutEffects(
    ready: ReadyDelivery,
    sent: SentAttempt,
    decision: Decision,
    { effect, letsOthersGo }: RecordedAttempt,
  ): void {
    const { parts } = this;
    announceAttempt(parts, ready, sent, effect && decision);
    if (!effect) return;
    const { event, endpoint, run } = ready;
    const { attempt } = sent;
    if (letsOthersGo) parts.releaser.wakeUpAt(run.accountId, run.endpointId, parts.clock());
    if (attempt.outcome === 'delivered') return;
    const isExhausted = decision.kind === 'exhausted';
    const aftermath = { disabledAs: undefined, recoveredFrom: undefined };
    const events = eventsOfAttempt({ event, endpoint, attempt, isExhausted, ...aftermath });
    parts.operationalEvents.raise(run.accountId, events);
  }

  async #resultUnsent(
    ready: ReadyDelivery,
    made: Exclude<TransformedDelivery, { kind: 'ready' }>,
  ): Promise<DeliverResult> {
    const { parts, abortSignal } = this;
    if (made.kind === 'ended') return DONE;
    if (made.kind !== 'sent') return await putOffUnsent(parts, ready, made);
    const decision = decideNext(parts, ready, made);
    const input = { ready, attempt: made.attempt, decision, attemptKey: undefined, isRepresented: true };
    const recorded = await persistFor(parts, ready.run, () => recordAttempt(parts, input), abortSignal);
    this.#concludeWithoutEffects(ready, made, decision, recorded);
    return resultOf(parts, made, recorded);
  }
}

function endOf(result: DeliverResult): End {
  switch (result.kind) {
    case 'done':
      return ENDED;
    case 'retry':
      return { kind: 'delayed', delayMs: result.delayMs, failure: result.reason };
    case 'later':
      return { kind: 'delayed', delayMs: result.delayMs };
    case 'interrupted':
      return { kind: 'delayed', delayMs: 0 };
  }
}

function resultOfEnd(end: End): DeliverResult {
  if (end.kind === 'done') return DONE;
  if (end.kind === 'alone') return AGAIN_AT_ONCE;
  const { delayMs, failure } = end;
  return failure === undefined ? { kind: 'later', delayMs } : { kind: 'retry', delayMs, reason: failure };
}

function placeOf({ run: { lane } }: ReadyDelivery): number {
  return lane?.place ?? 0;
}

function byAcceptance({ event: a }: ReadyDelivery, { event: b }: ReadyDelivery): number {
  return a.acceptedAt - b.acceptedAt || (a.id < b.id ? -1 : 1);
}

function untilFirst<Item>(items: readonly Item[], isGood: (item: Item) => boolean): readonly Item[] {
  const end = items.findIndex((item) => !isGood(item));
  return end === -1 ? items : items.slice(0, end);
}

const BATCH_ID_PREFIX = 'batch_';
const BATCH_ID_CHARACTERS = 32;

/** Of a request for these deliveries, and for no others. */
function batchIdOf(deliveries: readonly BatchDelivery[]): EventId {
  const [one] = deliveries;
  const events = deliveries.map(({ ready }) => ready.event.id).toSorted();
  const text = [one?.ready.run.endpointId, ...events].join(' ');
  const digest = createHash('sha256').update(text).digest('hex');
  return (BATCH_ID_PREFIX + digest.slice(0, BATCH_ID_CHARACTERS)) as EventId;
}
