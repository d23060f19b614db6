import { createHash } from 'node:crypto';
import { DUE_WITHIN_MS, type JobEnd } from '../domain/delivery';
import type { BatchLimits } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { eventsOfAttempt } from '../endpoints/operational-events';
import type { Step } from '../platform/redis-script';
import { type Admitted, admit, admitToBatch, hold, holdWithOthers } from './admit';
import { announceAttempt, conclude } from './after-attempt';
import { batchContentOf, itemOf } from './cloudevents';
import { type Decision, decideNext } from './decide-next';
import {
  AGAIN_AT_ONCE,
  coalesce,
  type DeliverResult,
  DONE,
  delayUntil,
  hasChanged,
  letGo,
  passOn,
  putOffUnsent,
  resultOf,
  withdraw,
} from './end-run';
import { loadDelivery, type ReadyDelivery } from './load-delivery';
import type { AttemptParts } from './open-delivery';
import { type BatchDelivery, readBatchResponse } from './read-batch-response';
import { persistFor, type RecordedAttempt, recordAttempt } from './record-attempt';
import { recordTogether } from './record-together';
import { type SendOutcome, type SentAttempt, sendAttempt } from './send-attempt';
import { type TransformedDelivery, transformEvent } from './transform-event';

/** A delivery that is ready to go in the request. */
interface PreparedDelivery extends BatchDelivery {
  /** The text of its event in the body. */
  readonly item: string;
}

// The primary delivery of its batch takes it before that time, if it can.
const TAKEN_WITHIN_MS = 500;
const TOO_LARGE = 413;
// Room for the ids of a hundred events, whatever else is around them.
const RESPONSE_BYTES = 64 * 1024;

/**
 * Send a delivery together with others of its endpoint: as the primary one of a batch. Each keeps its record, and its job: this
 * process takes those of the others as well, and each is recorded and ended in the script of the same turn, as if it had gone
 * alone.
 *
 * Before they are sent, it is recorded in their jobs that they are a batch. If this process dies afterwards, the jobs go together
 * again, in a request with the same id and the same bytes. Jobs that were taken and not sent are put back.
 */
export async function deliverBatch(
  parts: AttemptParts,
  primary: ReadyDelivery,
  limits: BatchLimits,
  abortSignal: AbortSignal,
): Promise<DeliverResult> {
  const { run } = primary;
  const isTaken = run.hasWaited && (await run.batch?.isTakenByAnother(run.endpointId, run.eventId));
  if (isTaken) return { kind: 'later', delayMs: TAKEN_WITHIN_MS };
  const held = await waitForOthers(parts, primary, limits);
  if (held) return held;
  const admission = await admit(parts, primary);
  if (admission.kind === 'refused') return { kind: 'later', delayMs: await hold(parts, primary, admission) };
  if (admission.kind !== 'admitted') return await coalesce(parts, primary, admission);
  const batch = new Batch(parts, primary, admission, limits, abortSignal);
  try {
    return await batch.deliver();
  } finally {
    await primary.run.batch?.giveBack();
  }
}

/** Hold it until its time is over, or enough of them wait. */
async function waitForOthers(
  parts: AttemptParts,
  primary: ReadyDelivery,
  { maxEvents, maxWaitMs }: BatchLimits,
): Promise<DeliverResult | undefined> {
  const { heldDeliveries, releaser, clock } = parts;
  const { run, endpoint, begunAt, scheduledAttempt } = primary;
  const wakeUpAt = begunAt + maxWaitMs;
  const isNew = scheduledAttempt === 1 && !primary.wasDelivered;
  if (!isNew || maxEvents === 1 || endpoint.status === 'disabled' || clock() >= wakeUpAt) return undefined;
  const held = await heldDeliveries.count(run.endpointId);
  if (held + 1 >= maxEvents) return undefined;
  const refusal = { kind: 'refused', reason: 'batching', wakeUpAt } as const;
  const { delayMs, others } = await holdWithOthers(parts, primary, refusal);
  if (held + 1 + others >= maxEvents) {
    await heldDeliveries.askForWakeUp(run, clock());
    releaser.wakeUpAt(run.accountId, run.endpointId, clock());
  }
  return { kind: 'later', delayMs };
}

/** One request, from its possible deliveries to the result of each. */
class Batch {
  /** The end of the primary delivery's job, which its run returns. */
  #result: DeliverResult = AGAIN_AT_ONCE;
  /** The keys of events counted for the rate limit that no record has used yet. */
  readonly #keys = new Set<string>();

  constructor(
    private readonly parts: AttemptParts,
    private readonly primary: ReadyDelivery,
    private readonly admitted: Admitted,
    private readonly limits: BatchLimits,
    private readonly abortSignal: AbortSignal,
  ) {}

  async deliver(): Promise<DeliverResult> {
    const { parts, admitted } = this;
    if (admitted.attemptKey !== undefined) this.#keys.add(admitted.attemptKey);
    let prepared: readonly PreparedDelivery[] = [];
    try {
      prepared = this.#fitting(await this.#transformAll(await this.#gather()));
      await this.#keepTogether(prepared.map(({ ready }) => ready));
    } finally {
      if (prepared.length === 0) parts.concurrency.releasePermit(admitted.permit, undefined);
    }
    if (prepared.length > 0) await this.#send(prepared);
    else await this.#withdraw(admitted.isProbe);
    await this.#withdraw(false);
    // All of them have ended unsent.
    if (prepared.length === 0 && this.#result.kind === 'done') passOn(parts, this.primary.run);
    return this.#result;
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

  /** The deliveries that can go now: the primary one first, the others in the order of acceptance. */
  async #gather(): Promise<readonly BatchDelivery[]> {
    const { primary, parts, limits, admitted } = this;
    const { endpoint, run, event } = primary;
    const most = parts.batchSizes.mostOf(run.endpointId, limits.maxEvents, parts.clock()) - 1;
    const wanted = {
      most,
      maxBytes: limits.maxBytes - Buffer.byteLength(event.body),
      isInOrder: endpoint.ordering === 'strict',
    };
    const runs = most < 1 || !run.batch ? [] : await run.batch.take(run, wanted);
    if (!runs) {
      this.#result = { kind: 'later', delayMs: TAKEN_WITHIN_MS };
      return [];
    }
    const loaded = await Promise.all(runs.map((each) => loadDelivery(parts, each, DUE_WITHIN_MS)));
    const others: ReadyDelivery[] = [];
    for (const [i, each] of loaded.entries()) {
      const other = runs[i];
      if (each.kind === 'ready') others.push(each);
      else if (each.kind === 'ended') await this.#end(other, { kind: 'done' });
      else await this.#end(other, { kind: 'delayed', delayMs: delayUntil(parts, each.dueAt) });
    }
    const unchanged = await this.#unchanged([primary, ...others.toSorted(byAcceptance)]);
    const next = await this.#inOrder(unchanged);
    const isPrimaryIn = next[0] === primary;
    if (!isPrimaryIn) return [];
    const counted = await this.#counted(next.slice(1));
    return [{ ready: primary, attemptKey: this.#countsEvents ? admitted.attemptKey : undefined }, ...counted];
  }

  // An earlier worker of this job may have recorded its attempt at this moment.
  async #unchanged(all: readonly ReadyDelivery[]): Promise<readonly ReadyDelivery[]> {
    if (!all.some(({ run }) => run.wasTakenOver)) return all;
    const changed = await Promise.all(
      all.map(async (each) => each.run.wasTakenOver && (await hasChanged(this.parts, each))),
    );
    return all.filter((_, i) => !changed[i]);
  }

  /** In strict order: the deliveries that follow each other without a gap. */
  async #inOrder(all: readonly ReadyDelivery[]): Promise<readonly ReadyDelivery[]> {
    const { parts, primary } = this;
    const { id, accountId, ordering } = primary.endpoint;
    if (ordering === 'none' || all.length < 2) return all;
    const entries = all.map(({ event }) => ({ eventId: event.id, acceptedAt: event.acceptedAt }));
    await parts.atomic([parts.admissionStore.joinOrder(id, entries)]);
    const order = await parts.admissionStore.firstInOrder(id, all.length);
    const gap = all.findIndex(({ event }, i) => order[i] !== event.id);
    const next = gap === -1 ? all : all.slice(0, Math.max(gap, 1));
    const last = next.at(-1) ?? primary;
    const { acceptedAt } = last.event;
    const isBehind = await parts.oldestEvents.hasOlder({ accountId, id: last.event.id, acceptedAt });
    return isBehind ? next.slice(0, 1) : next;
  }

  get #countsEvents(): boolean {
    const { rateLimit, rateLimitUnit } = this.primary.endpoint;
    return rateLimit !== undefined && rateLimitUnit === 'events';
  }

  /** If the rate limit counts events: the deliveries for which it has room. */
  async #counted(others: readonly ReadyDelivery[]): Promise<readonly BatchDelivery[]> {
    if (!this.#countsEvents) return others.map((ready) => ({ ready, attemptKey: undefined }));
    const keys = await Promise.all(others.map((ready) => admitToBatch(this.parts, ready)));
    for (const key of keys) if (key !== undefined) this.#keys.add(key);
    return untilFirst(
      others.map((ready, i) => ({ ready, attemptKey: keys[i] })),
      ({ attemptKey }) => attemptKey !== undefined,
    );
  }

  /** In strict order, no delivery goes before one that has failed. */
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
        await this.#endUnsent(delivery.ready, transformed);
        if (primary.endpoint.ordering === 'strict' && transformed.kind !== 'ended') break;
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

  async #keepTogether(...batches: readonly (readonly ReadyDelivery[])[]): Promise<void> {
    const steps = batches.flatMap((deliveries) => this.#stepsToKeepTogether(deliveries));
    if (steps.length > 0) await this.parts.atomic(steps);
  }

  #stepsToKeepTogether(deliveries: readonly ReadyDelivery[]): readonly Step[] {
    const { batch, endpointId } = this.primary.run;
    return (
      batch?.keepTogether(
        endpointId,
        deliveries.map(({ event }) => event.id),
      ) ?? []
    );
  }

  async #send(prepared: readonly PreparedDelivery[]): Promise<void> {
    const { parts, primary, admitted, abortSignal } = this;
    // In strict order they are in the order of their lane already.
    const isInLane = primary.endpoint.ordering === 'strict';
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
      this.#result = await letGo(parts, primary, admitted, sent);
      await Promise.all(sorted.map((each) => this.#putOffOther(each, sent)));
      return;
    }
    if (sent.attempt.responseStatus === TOO_LARGE && sorted.length > 1) return await this.#halve(sorted);
    await this.#record(sorted, sent, batchId);
  }

  // Like the primary one, so that they stay together.
  async #putOffOther(
    { ready }: PreparedDelivery,
    sent: Exclude<SendOutcome, { kind: 'sent' }>,
  ): Promise<void> {
    if (ready.event.id === this.primary.event.id) return;
    const result = await putOffUnsent(this.parts, ready, sent);
    if (result.kind === 'later') await this.#end(ready.run, { kind: 'delayed', delayMs: result.delayMs });
  }

  /** Nothing is recorded, and no attempt used: the halves are new requests. */
  async #halve(sorted: readonly PreparedDelivery[]): Promise<void> {
    const { parts, primary, admitted } = this;
    const { accountId, endpointId } = primary.run;
    const half = Math.ceil(sorted.length / 2);
    parts.batchSizes.halve(endpointId, half, parts.clock());
    const all = sorted.map(({ ready }) => ready);
    await this.#keepTogether(all.slice(0, half), all.slice(half));
    await this.#withdraw(admitted.isProbe);
    parts.emit({ name: 'delivery.batch_halved', accountId, endpointId, events: sorted.length });
  }

  async #record(sorted: readonly PreparedDelivery[], sent: SentAttempt, batchId: EventId): Promise<void> {
    const { parts, abortSignal, primary } = this;
    const ends = readBatchResponse(parts, sorted, sent, batchId);
    const [representative] = ends;
    if (representative === undefined) return;
    const hasEnded = ends.some(({ decision }) => decision.kind !== 'retry');
    const left = ends.filter(({ decision }) => decision.kind === 'retry');
    const inputs = ends.map(({ delivery, sent: { attempt }, decision }) => {
      const isOwn = delivery === representative.delivery && !this.#countsEvents;
      const attemptKey = isOwn ? this.admitted.attemptKey : delivery.attemptKey;
      if (attemptKey !== undefined) this.#keys.delete(attemptKey);
      return { ready: delivery.ready, attempt, decision, attemptKey };
    });
    const together = {
      inputs,
      // The remaining ones go together again.
      steps:
        hasEnded && left.length > 0
          ? this.#stepsToKeepTogether(left.map(({ delivery }) => delivery.ready))
          : [],
      stepsToEnd: (events: readonly EventId[], end: JobEnd) =>
        primary.run.batch?.stepsToEnd(events, end) ?? [],
    };
    const { run } = representative.delivery.ready;
    const recorded = await persistFor(parts, run, () => recordTogether(parts, together), abortSignal);
    const endings = ends.map(async (end) => {
      const { ready } = end.delivery;
      const own = recorded.get(ready.event.id);
      if (own === undefined) return;
      if (ready.event.id === primary.event.id) this.#result = resultOf(parts, end.sent, own);
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

  /** Its code failed or cancelled it or could not run, or it has to be read again. */
  async #endUnsent(
    ready: ReadyDelivery,
    made: Exclude<TransformedDelivery, { kind: 'ready' }>,
  ): Promise<void> {
    const result = await this.#resultUnsent(ready, made);
    if (ready === this.primary) this.#result = result;
    else if (result.kind === 'done') await this.#end(ready.run, result);
    // One that has to be read again is given back, and goes at once.
    else if (made.kind === 'unsent' && result.kind === 'later') {
      await this.#end(ready.run, { kind: 'delayed', delayMs: result.delayMs });
    }
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

  async #end(run: ReadyDelivery['run'] | undefined, end: JobEnd): Promise<void> {
    const steps = run?.stepsToEnd?.(end) ?? [];
    if (steps.length > 0) await this.parts.atomic(steps);
  }
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
