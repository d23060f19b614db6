import { createHash } from 'node:crypto';
import { DUE_WITHIN_MS, type JobEnd } from '../domain/delivery';
import type { BatchLimits } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { eventsOfAttempt } from '../endpoints/operational-events';
import type { Step } from '../platform/redis-script';
import { type Admitted, admit, admitAlong, hold, holdAlong } from './admit';
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
import { type Mate, readBatchResponse } from './read-batch-response';
import { persistFor, type RecordedAttempt, recordAttempt } from './record-attempt';
import { recordTogether } from './record-together';
import { type SendOutcome, type SentAttempt, sendAttempt } from './send-attempt';
import { type TransformedDelivery, transformEvent } from './transform-event';

/** A delivery that goes in the request. */
interface Member extends Mate {
  /** The text of its event in the body. */
  readonly item: string;
}

// The delivery before it takes it along before that time, if it can.
const FOLLOWS_AGAIN_MS = 500;
const TOO_LARGE = 413;
// Room for the ids of a hundred events, whatever else is around them.
const RESPONSE_BYTES = 64 * 1024;

/**
 * Send a delivery together with others of its endpoint. Each keeps its record, and its job: this process takes those of the
 * others as well, and each is recorded and ended in the script of the same turn, as if it had gone alone.
 *
 * Before they are sent, their jobs are tied to each other. If this process dies afterwards, the jobs go together again, in a
 * request with the same id and the same bytes. Jobs that were taken and not sent are put back.
 */
export async function deliverBatch(
  parts: AttemptParts,
  first: ReadyDelivery,
  limits: BatchLimits,
  abortSignal: AbortSignal,
): Promise<DeliverResult> {
  const { run } = first;
  const follows = run.hasWaited && (await run.mates?.follow(run.endpointId, run.eventId));
  if (follows) return { kind: 'later', delayMs: FOLLOWS_AGAIN_MS };
  const held = await waitForOthers(parts, first, limits);
  if (held) return held;
  const admission = await admit(parts, first);
  if (admission.kind === 'refused') return { kind: 'later', delayMs: await hold(parts, first, admission) };
  if (admission.kind !== 'admitted') return await coalesce(parts, first, admission);
  const batch = new Batch(parts, first, admission, limits, abortSignal);
  try {
    return await batch.deliver();
  } finally {
    await first.run.mates?.giveBack();
  }
}

/** Hold it until its time is over, or enough of them wait. */
async function waitForOthers(
  parts: AttemptParts,
  first: ReadyDelivery,
  { maxEvents, maxWaitMs }: BatchLimits,
): Promise<DeliverResult | undefined> {
  const { heldDeliveries, releaser, clock } = parts;
  const { run, endpoint, begunAt, scheduledAttempt } = first;
  const wakeUpAt = begunAt + maxWaitMs;
  const isNew = scheduledAttempt === 1 && !first.wasDelivered;
  if (!isNew || maxEvents === 1 || endpoint.status === 'disabled' || clock() >= wakeUpAt) return undefined;
  const others = await heldDeliveries.count(run.endpointId);
  if (others + 1 >= maxEvents) return undefined;
  const refusal = { kind: 'refused', reason: 'batching', wakeUpAt } as const;
  const { delayMs, along } = await holdAlong(parts, first, refusal);
  if (others + 1 + along >= maxEvents) {
    await heldDeliveries.askForWakeUp(run, clock());
    releaser.wakeUpAt(run.accountId, run.endpointId, clock());
  }
  return { kind: 'later', delayMs };
}

/** One request, from its possible deliveries to the result of each. */
class Batch {
  /** The end of the first delivery's job, which its run returns. */
  #result: DeliverResult = AGAIN_AT_ONCE;
  /** The keys of events counted for the rate limit that no record has used yet. */
  readonly #keys = new Set<string>();

  constructor(
    private readonly parts: AttemptParts,
    private readonly first: ReadyDelivery,
    private readonly admitted: Admitted,
    private readonly limits: BatchLimits,
    private readonly abortSignal: AbortSignal,
  ) {}

  async deliver(): Promise<DeliverResult> {
    const { parts, admitted } = this;
    if (admitted.attemptKey !== undefined) this.#keys.add(admitted.attemptKey);
    let members: readonly Member[] = [];
    try {
      members = this.#fitting(await this.#transformAll(await this.#gather()));
      await this.#tie(members.map(({ ready }) => ready));
    } finally {
      if (members.length === 0) parts.concurrency.releasePermit(admitted.permit, undefined);
    }
    if (members.length > 0) await this.#send(members);
    else await this.#withdraw(admitted.isProbe);
    await this.#withdraw(false);
    // All of them have ended unsent.
    if (members.length === 0 && this.#result.kind === 'done') passOn(parts, this.first.run);
    return this.#result;
  }

  /** Give back the counts that no record has used. */
  async #withdraw(isProbe: boolean): Promise<void> {
    const keys = isProbe && this.#keys.size === 0 ? [undefined] : [...this.#keys];
    this.#keys.clear();
    for (const [i, attemptKey] of keys.entries()) {
      const admitted = { ...this.admitted, attemptKey, isProbe: isProbe && i === 0 };
      await withdraw(this.parts, this.first, admitted);
    }
  }

  /** The deliveries that can go now: the given one first, the others in the order of acceptance. */
  async #gather(): Promise<readonly Mate[]> {
    const { first, parts, limits, admitted } = this;
    const { endpoint, run, event } = first;
    const most = parts.batchSizes.mostOf(run.endpointId, limits.maxEvents, parts.clock()) - 1;
    const wanted = {
      most,
      maxBytes: limits.maxBytes - Buffer.byteLength(event.body),
      isInOrder: endpoint.ordering === 'strict',
    };
    const runs = most < 1 || !run.mates ? [] : await run.mates.take(run, wanted);
    if (!runs) {
      this.#result = { kind: 'later', delayMs: FOLLOWS_AGAIN_MS };
      return [];
    }
    const loaded = await Promise.all(runs.map((each) => loadDelivery(parts, each, DUE_WITHIN_MS)));
    const mates: ReadyDelivery[] = [];
    for (const [i, each] of loaded.entries()) {
      const mate = runs[i];
      if (each.kind === 'ready') mates.push(each);
      else if (each.kind === 'ended') await this.#end(mate, { kind: 'done' });
      else await this.#end(mate, { kind: 'delayed', delayMs: delayUntil(parts, each.dueAt) });
    }
    const unchanged = await this.#unchanged([first, ...mates.toSorted(byAcceptance)]);
    const next = await this.#inOrder(unchanged);
    const isFirstIn = next[0] === first;
    if (!isFirstIn) return [];
    const counted = await this.#counted(next.slice(1));
    return [{ ready: first, attemptKey: this.#countsEvents ? admitted.attemptKey : undefined }, ...counted];
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
    const { parts, first } = this;
    const { id, accountId, ordering } = first.endpoint;
    if (ordering === 'none' || all.length < 2) return all;
    const entries = all.map(({ event }) => ({ eventId: event.id, acceptedAt: event.acceptedAt }));
    await parts.atomic([parts.admissionStore.joinOrder(id, entries)]);
    const order = await parts.admissionStore.firstInOrder(id, all.length);
    const gap = all.findIndex(({ event }, i) => order[i] !== event.id);
    const next = gap === -1 ? all : all.slice(0, Math.max(gap, 1));
    const last = next.at(-1) ?? first;
    const { acceptedAt } = last.event;
    const isBehind = await parts.oldestEvents.hasOlder({ accountId, id: last.event.id, acceptedAt });
    return isBehind ? next.slice(0, 1) : next;
  }

  get #countsEvents(): boolean {
    const { rateLimit, rateLimitUnit } = this.first.endpoint;
    return rateLimit !== undefined && rateLimitUnit === 'events';
  }

  /** If the rate limit counts events: the deliveries for which it has room. */
  async #counted(mates: readonly ReadyDelivery[]): Promise<readonly Mate[]> {
    if (!this.#countsEvents) return mates.map((ready) => ({ ready, attemptKey: undefined }));
    const keys = await Promise.all(mates.map((ready) => admitAlong(this.parts, ready)));
    for (const key of keys) if (key !== undefined) this.#keys.add(key);
    return untilFirst(
      mates.map((ready, i) => ({ ready, attemptKey: keys[i] })),
      ({ attemptKey }) => attemptKey !== undefined,
    );
  }

  /** In strict order, no delivery goes before one that has failed. */
  async #transformAll(mates: readonly Mate[]): Promise<readonly Member[]> {
    const { parts, first } = this;
    const isToBeMade = mates.some(({ ready }) => ready.transformWith !== undefined);
    const made = isToBeMade
      ? await Promise.all(mates.map(({ ready }) => transformEvent(parts, ready)))
      : mates.map(({ ready }) => ready);
    const style = parts.requestStyle.cloudEvents;
    const members: Member[] = [];
    for (const [i, transformed] of made.entries()) {
      const mate = mates[i];
      if (mate === undefined) continue;
      if (transformed.kind === 'ready') {
        members.push({ ...mate, ready: transformed, item: itemOf(transformed, style) });
      } else {
        await this.#endUnsent(mate.ready, transformed);
        if (first.endpoint.ordering === 'strict' && transformed.kind !== 'ended') break;
      }
    }
    return members;
  }

  /** As many as fit into the limit of bytes, but at least one. */
  #fitting(members: readonly Member[]): readonly Member[] {
    let bytes = 0;
    return untilFirst(members, ({ item }) => {
      const isOnly = bytes === 0;
      bytes += Buffer.byteLength(item) + 1;
      return isOnly || bytes <= this.limits.maxBytes;
    });
  }

  async #tie(...sets: readonly (readonly ReadyDelivery[])[]): Promise<void> {
    const steps = sets.flatMap((set) => this.#stepsToTie(set));
    if (steps.length > 0) await this.parts.atomic(steps);
  }

  #stepsToTie(set: readonly ReadyDelivery[]): readonly Step[] {
    const { mates, endpointId } = this.first.run;
    return (
      mates?.tie(
        endpointId,
        set.map(({ event }) => event.id),
      ) ?? []
    );
  }

  async #send(members: readonly Member[]): Promise<void> {
    const { parts, first, admitted, abortSignal } = this;
    // In strict order they are as their line has them already.
    const isInLine = first.endpoint.ordering === 'strict';
    const sorted = isInLine ? members : members.toSorted((a, b) => byAcceptance(a.ready, b.ready));
    const [leader = first] = sorted.map(({ ready }) => ready);
    const batchId = batchIdOf(sorted);
    const batch = {
      id: batchId,
      content: batchContentOf(
        sorted.map(({ item }) => item),
        leader.endpoint.format,
      ),
      members: sorted.map(({ ready }) => ready),
      isTest: sorted.every(({ ready }) => ready.isTest),
      responseBytes: RESPONSE_BYTES,
    };
    const sent = await sendAttempt(parts, leader, admitted.permit, abortSignal, batch);
    if (sent.kind !== 'sent') {
      if (admitted.attemptKey !== undefined) this.#keys.delete(admitted.attemptKey);
      this.#result = await letGo(parts, first, admitted, sent);
      await Promise.all(sorted.map((member) => this.#putOffAlong(member, sent)));
      return;
    }
    if (sent.attempt.responseStatus === TOO_LARGE && sorted.length > 1) return await this.#halve(sorted);
    await this.#record(sorted, sent, batchId);
  }

  // Like the first one, so that they stay together.
  async #putOffAlong({ ready }: Member, sent: Exclude<SendOutcome, { kind: 'sent' }>): Promise<void> {
    if (ready.event.id === this.first.event.id) return;
    const result = await putOffUnsent(this.parts, ready, sent);
    if (result.kind === 'later') await this.#end(ready.run, { kind: 'delayed', delayMs: result.delayMs });
  }

  /** Nothing is recorded, and no attempt used: the halves are new requests. */
  async #halve(sorted: readonly Member[]): Promise<void> {
    const { parts, first, admitted } = this;
    const { accountId, endpointId } = first.run;
    const half = Math.ceil(sorted.length / 2);
    parts.batchSizes.halve(endpointId, half, parts.clock());
    const all = sorted.map(({ ready }) => ready);
    await this.#tie(all.slice(0, half), all.slice(half));
    await this.#withdraw(admitted.isProbe);
    parts.emit({ name: 'delivery.batch_halved', accountId, endpointId, events: sorted.length });
  }

  async #record(sorted: readonly Member[], sent: SentAttempt, batchId: EventId): Promise<void> {
    const { parts, abortSignal, first } = this;
    const ends = readBatchResponse(parts, sorted, sent, batchId);
    const [speaker] = ends;
    if (speaker === undefined) return;
    const hasEnded = ends.some(({ decision }) => decision.kind !== 'retry');
    const left = ends.filter(({ decision }) => decision.kind === 'retry');
    const inputs = ends.map(({ member, sent: { attempt }, decision }) => {
      const isOwn = member.ready === speaker.member.ready && !this.#countsEvents;
      const attemptKey = isOwn ? this.admitted.attemptKey : member.attemptKey;
      if (attemptKey !== undefined) this.#keys.delete(attemptKey);
      return { ready: member.ready, attempt, decision, attemptKey };
    });
    const together = {
      inputs,
      // The remaining ones go together again.
      steps: hasEnded && left.length > 0 ? this.#stepsToTie(left.map(({ member }) => member.ready)) : [],
      stepsToEnd: (events: readonly EventId[], end: JobEnd) => first.run.mates?.stepsToEnd(events, end) ?? [],
    };
    const { run } = speaker.member.ready;
    const recorded = await persistFor(parts, run, () => recordTogether(parts, together), abortSignal);
    const endings = ends.map(async (end) => {
      const { ready } = end.member;
      const own = recorded.get(ready.event.id);
      if (own === undefined) return;
      if (ready.event.id === first.event.id) this.#result = resultOf(parts, end.sent, own);
      if (end !== speaker) this.#concludeAlong(ready, end.sent, end.decision, own);
      else await conclude(parts, ready, end.sent, end.decision, own, abortSignal, hasEnded);
    });
    await Promise.all(endings);
  }

  /** Without effects on the endpoint: those of the request follow for one delivery, and where nothing was sent there are none. */
  #concludeAlong(
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
    if (ready === this.first) this.#result = result;
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
    const input = { ready, attempt: made.attempt, decision, attemptKey: undefined, isAlong: true };
    const recorded = await persistFor(parts, ready.run, () => recordAttempt(parts, input), abortSignal);
    this.#concludeAlong(ready, made, decision, recorded);
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
function batchIdOf(members: readonly Pick<Member, 'ready'>[]): EventId {
  const [first] = members;
  const events = members.map(({ ready }) => ready.event.id).toSorted();
  const text = [first?.ready.run.endpointId, ...events].join(' ');
  const digest = createHash('sha256').update(text).digest('hex');
  return (BATCH_ID_PREFIX + digest.slice(0, BATCH_ID_CHARACTERS)) as EventId;
}
