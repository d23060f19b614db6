import { setImmediate } from 'node:timers/promises';
import type { AccountId } from '../domain/account';
import type { EndpointRef } from '../domain/endpoint';
import {
  type AcceptedEvent,
  EVENT_ID_PREFIX,
  type EventId,
  publishedAtOf,
  type Schedule,
} from '../domain/event';
import type { TraceContext } from '../domain/trace';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { lookUpEndpoints, type ResolvedEndpoints } from '../endpoints/resolve-endpoints';
import type { EventStore } from '../events/redis-event-store';
import { digestOf, isOfDigest, type MovedIds, type Settled } from '../events/redis-moved-ids';
import { AppError } from '../platform/app-error';
import type { NewId } from '../platform/ids';
import { together } from '../platform/redis-atomic';
import type { Step } from '../platform/redis-script';
import { type DispatchEventsContext, dispatchEvents, type EventsPremise } from './fan-out-event';
import type { EventClaim, EventClaimStore } from './redis-event-claim-store';
import { isPast, type ScheduleEventsContext, scheduleEvents, scheduleOf } from './schedule-events';
import { type UncheckedEvent, type ValidateEventContext, validateEvent } from './validate-event';

export interface AcceptEventsContext
  extends DispatchEventsContext,
    ScheduleEventsContext,
    ValidateEventContext {
  readonly endpointStore: Pick<EndpointStore, 'findIds'>;
  readonly eventStore: Pick<EventStore, 'find'> & DispatchEventsContext['eventStore'];
  /** Absent: there is no history that an event moves to. */
  readonly movedIds?: Pick<MovedIds, 'look' | 'isSettled' | 'guardsUnsettled'> | undefined;
  /** How far ahead `deliverAt` may be. */
  readonly scheduleMaxMs: number;
  readonly eventClaims: EventClaimStore;
}

export interface PublishedEvent extends UncheckedEvent {
  /** Chosen by the client. The same id means the same event. */
  readonly id?: EventId;
  /** Only these endpoints get it, whichever types they subscribe to. */
  readonly endpointRefs?: readonly EndpointRef[];
  /** When to send it. Milliseconds since the Unix epoch. Absent: at once. */
  readonly deliverAt?: number;
  /** Its group, for webhooks with `ordering: group`. */
  readonly group?: string;
}

export interface AcceptEventsInput extends EventsPremise {
  readonly accountId: AccountId;
  readonly requestId: string;
  /** The request's position in a trace, if it has one. */
  readonly trace?: TraceContext | undefined;
  /** Milliseconds since the Unix epoch. */
  readonly receivedAt: number;
  /** The name of the idempotent response to it, if it has an Idempotency-Key. */
  readonly answer?: string | undefined;
  /** For events without an id. */
  readonly newId: NewId;
  /** An item that could not be read as an event is in the list as its error. */
  readonly events: readonly (PublishedEvent | AppError)[];
}

export interface Acceptance {
  readonly event: AcceptedEvent;
  /** `false` for an event that had been accepted before, under the same id. */
  readonly isNew: boolean;
}

// Checking this many takes a millisecond or two.
const AT_ONCE = 50;

/** An event on its way through the steps below. */
interface Candidate {
  readonly event: AcceptedEvent;
  /** Whether the client chose its id. */
  readonly hasOwnId: boolean;
  /** What became of the claim of that id. */
  readonly claimState?: EventClaim['state'];
}

/**
 * Take events from a producer: check each, and dispatch the valid ones. When the promise resolves, Redis has
 * them and they will be delivered.
 *
 * An id is claimed before its event is dispatched and marked after. A request that is repeated because it
 * broke off in between finds the claim open, and dispatches the same event.
 *
 * @returns for each event, in the same order, its acceptance or the reason of its refusal: `invalid_request`,
 *   `payload_too_large`, or `event_id_conflict` when its id belongs to another event.
 * @throws Error of Redis when it did not accept them all; some may still be delivered.
 * @throws NoLongerTrue when the assumption does not hold; then nothing was stored.
 */
export async function acceptEvents(
  context: AcceptEventsContext,
  input: AcceptEventsInput,
): Promise<(Acceptance | AppError)[]> {
  const resolve = await lookUpEndpoints(context, input.accountId, input.events.flatMap(refsOf));
  const prepared = await eachGood(input.events, (event) => prepare(context, event, input, resolve));
  const candidates = await claimIds(context, prepared, input);
  const events = candidates.flatMap(eventToDispatch);
  await scheduleEvents(context, events.filter(isScheduled), input);
  await dispatchEvents(
    context,
    events.filter((event) => !isScheduled(event)),
    input,
  );
  const isFirst = await markQueued(context, candidates);
  return candidates.map((candidate) =>
    candidate instanceof AppError ? candidate : conclude(context, candidate, input, isFirst),
  );
}

function isScheduled({ schedule }: AcceptedEvent): boolean {
  return schedule !== undefined;
}

async function prepare(
  context: AcceptEventsContext,
  published: PublishedEvent,
  input: AcceptEventsInput,
  resolve: ResolvedEndpoints,
): Promise<Candidate> {
  const { type, endpointRefs, group } = published;
  const { accountId, receivedAt, trace } = input;
  const schedule = await scheduleFor(context, published, input);
  const id = published.id ?? (input.newId(EVENT_ID_PREFIX) as EventId);
  const body = await validateEvent(context, published);
  const endpointIds = endpointRefs && resolve(endpointRefs);
  const event: AcceptedEvent = {
    id,
    accountId,
    type,
    body,
    acceptedAt: schedule?.deliverAt ?? receivedAt,
    ...(published.id === undefined ? {} : { isClaimed: true }),
    ...(endpointIds === undefined ? {} : { endpointIds }),
    ...(trace === undefined ? {} : { trace }),
    ...(schedule === undefined ? {} : { schedule }),
    ...(group === undefined ? {} : { group }),
  };
  return { event, hasOwnId: published.id !== undefined };
}

// The time was checked when the event was first published. A repeated request is not refused because of it.
async function scheduleFor(
  { eventStore, movedIds, atomic, scheduleMaxMs }: AcceptEventsContext,
  { id, deliverAt }: PublishedEvent,
  { accountId, receivedAt }: AcceptEventsInput,
): Promise<Schedule | undefined> {
  if (id !== undefined && deliverAt !== undefined && isPast(deliverAt, receivedAt)) {
    const head = await eventStore.findHead(accountId, id);
    if (head?.schedule) return { state: 'waiting', publishedAt: receivedAt, deliverAt };
    if (head) return undefined;
    const settled = movedIds && (await atomic([movedIds.look(accountId, id, receivedAt)]))[0];
    if (settled?.moved) return undefined;
  }
  return scheduleOf(deliverAt, receivedAt, scheduleMaxMs);
}

interface ClaimedId {
  readonly candidate: Candidate;
  readonly claim: EventClaim;
  /** The history has its event: this claim is to go. */
  readonly isMoved: boolean;
}

/** All ids that clients chose, in one step. */
async function claimIds(
  context: AcceptEventsContext,
  prepared: readonly (Candidate | AppError)[],
  { assumption }: AcceptEventsInput,
): Promise<readonly (Candidate | AppError)[]> {
  const claimable = prepared.filter(isClaimable);
  if (claimable.length === 0) return prepared;
  const [claimed] = await (assumption ?? context).atomic([
    together(claimable.map((candidate) => claimId(context, candidate))),
  ]);
  const alreadyMoved = claimed.filter(({ isMoved }) => isMoved);
  await takeBack(
    context,
    alreadyMoved.map(({ candidate }) => candidate.event),
  );
  const claims = new Map(claimed.map(({ candidate, claim }) => [candidate, claim]));
  return await eachGood(prepared, async (candidate) => {
    const claim = claims.get(candidate);
    return claim ? await applyClaim(context, candidate, claim) : candidate;
  });
}

function claimId({ eventClaims, movedIds }: AcceptEventsContext, candidate: Candidate): Step<ClaimedId> {
  const { event } = candidate;
  const digest = digestOf(event.body, event.endpointIds);
  const toClaim = eventClaims.claim(event, digest);
  const toLook = movedIds?.look(event.accountId, event.id, publishedAtOf(event));
  return async (target) => {
    // Both fail when Redis is down. An unhandled rejection would end the process.
    const [claim, settled] = await Promise.all([toClaim(target), toLook?.(target)]);
    if (settled === undefined) return { candidate, claim, isMoved: false };
    return {
      candidate,
      claim: claimAgainstHistory(event, settled, claim, digest),
      isMoved: settled.moved !== undefined && claim.state === 'open',
    };
  };
}

// The history has these events. Redis keeps their ids for as long as ids are known.
async function takeBack(
  { eventClaims }: AcceptEventsContext,
  alreadyMoved: readonly AcceptedEvent[],
): Promise<void> {
  await Promise.all(
    alreadyMoved.map((event) => eventClaims.takeBack(event, digestOf(event.body, event.endpointIds))),
  );
}

// An event that is complete is not dispatched again: deliveries of it may have moved to the history.
function claimAgainstHistory(
  { body }: AcceptedEvent,
  { isListed, moved }: Settled,
  claim: EventClaim,
  digest: string,
): EventClaim {
  if (!moved) return isListed && claim.state === 'open' ? { ...claim, state: 'queued' } : claim;
  const own = moved.kind === 'claimed' ? digest : digestOf(body);
  return isOfDigest(moved, own) ? { state: 'queued', acceptedAt: moved.acceptedAt } : { state: 'taken' };
}

function isClaimable(candidate: Candidate | AppError): candidate is Candidate {
  return !(candidate instanceof AppError) && candidate.hasOwnId;
}

async function applyClaim(
  context: AcceptEventsContext,
  candidate: Candidate,
  claim: EventClaim,
): Promise<Candidate> {
  const { event } = candidate;
  switch (claim.state) {
    case 'open':
    case 'queued':
      return { ...candidate, event: await withFirstTime(context, event, claim), claimState: claim.state };
    case 'stored':
      return { ...candidate, event: await sameAsStored(context, event), claimState: 'stored' };
    case 'taken':
      throw idConflict(event.id);
  }
}

// An event that was published before with this id keeps its time, even if this request names another.
async function withFirstTime(
  { eventStore }: AcceptEventsContext,
  event: AcceptedEvent,
  { state, acceptedAt }: Extract<EventClaim, { acceptedAt: number }>,
): Promise<AcceptedEvent> {
  const { schedule, ...atOnce } = event;
  if (schedule === undefined) return { ...event, acceptedAt };
  if (state === 'open') return { ...event, schedule: { ...schedule, publishedAt: acceptedAt } };
  const head = await eventStore.findHead(event.accountId, event.id);
  return head?.schedule
    ? { ...event, acceptedAt: head.acceptedAt, schedule: head.schedule }
    : { ...atOnce, acceptedAt };
}

async function sameAsStored(
  { eventStore }: AcceptEventsContext,
  event: AcceptedEvent,
): Promise<AcceptedEvent> {
  const stored = await eventStore.find(event.accountId, event.id);
  if (stored?.body === undefined || stored.body !== event.body) throw idConflict(event.id);
  return stored;
}

const NONE: ReadonlySet<Candidate> = new Set();

/** Gives the candidates whose ids this call marked first. */
async function markQueued(
  { eventClaims, atomic }: AcceptEventsContext,
  candidates: readonly (Candidate | AppError)[],
): Promise<ReadonlySet<Candidate>> {
  const open = candidates.filter(isClaimable).filter(({ claimState }) => claimState === 'open');
  if (open.length === 0) return NONE;
  const [isFirst] = await atomic([
    together(open.map(({ event: { accountId, id } }) => eventClaims.markQueued(accountId, id))),
  ]);
  return new Set(open.filter((_candidate, i) => isFirst[i]));
}

function conclude(
  { emit }: AcceptEventsContext,
  candidate: Candidate,
  { requestId, trace }: AcceptEventsInput,
  isFirst: ReadonlySet<Candidate>,
): Acceptance {
  const { event, hasOwnId } = candidate;
  const { id, accountId, type, body } = event;
  const isNew = !hasOwnId || isFirst.has(candidate);
  if (isNew) {
    emit({
      name: 'event.accepted',
      source: 'http',
      accountId,
      eventId: id,
      type,
      bytes: Buffer.byteLength(body),
      requestId,
      ...(trace === undefined ? {} : { traceId: trace.traceId }),
    });
  }
  return { event, isNew };
}

function refsOf(published: PublishedEvent | AppError): readonly EndpointRef[] {
  return published instanceof AppError ? [] : (published.endpointRefs ?? []);
}

/** One invalid event does not affect the others; an unavailable store fails them all. */
async function eachGood<In, Out>(
  all: readonly (In | AppError)[],
  step: (one: In) => Promise<Out>,
): Promise<(Out | AppError)[]> {
  const done: (Out | AppError)[] = [];
  for (let start = 0; start < all.length; start += AT_ONCE) {
    // Let other work run in between.
    if (start > 0) await setImmediate();
    const some = all.slice(start, start + AT_ONCE);
    done.push(
      ...(await Promise.all(
        some.map(async (one) => (one instanceof AppError ? one : await step(one).catch(refusalOf))),
      )),
    );
  }
  return done;
}

function refusalOf(error: unknown): AppError {
  if (error instanceof AppError && error.code !== 'storage_unavailable') return error;
  throw error;
}

function eventToDispatch(candidate: Candidate | AppError): AcceptedEvent[] {
  if (candidate instanceof AppError) return [];
  const { event, claimState } = candidate;
  return claimState === undefined || claimState === 'open' ? [event] : [];
}

function idConflict(id: EventId): AppError {
  return new AppError(
    'event_id_conflict',
    `The id "${id}" belongs to an event with other content, or to one whose payload was erased. Use another id.`,
  );
}
