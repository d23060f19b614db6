import { setImmediate } from 'node:timers/promises';
import type { EventTypeView } from '../accounts/event-types/event-types';
import type { Principal } from '../domain/account';
import type { Act } from '../domain/audit';
import type { DeliveryParts } from '../domain/delivery';
import type { Endpoint, EndpointId, EndpointRef } from '../domain/endpoint';
import { type AcceptedEvent, EVENT_ID_PREFIX, type EventId, type Schedule } from '../domain/event';
import type { TraceContext } from '../domain/trace';
import { EVERY_EVENT, matchesType } from '../endpoints/filters/event-filters';
import { lookUpEndpoints, type ResolvedEndpoints, readEndpoint } from '../endpoints/resolve-endpoints';
import { AppError, invalidRequest } from '../platform/app-error';
import type { NewId } from '../platform/ids';
import { type EventJob, scheduledEventSchema } from '../queue/bullmq-event-queue';
import type { ScheduledEntry } from '../queue/bullmq-scheduled-queue';
import { applyClaim, type Candidate, claimIds, markQueued } from './claim-ids';
import { dispatchEvents, fanOutEvents, routeEvent, routeEvents } from './fan-out-event';
import { storeOnceKept } from './intake';
import type { Premise, PublishingParts } from './publishing-parts';
import { type ReadEvent, readEventJob } from './read-event-job';
import { isPast, type ScheduledEvents, scheduleOf } from './scheduled-events';
import { type UncheckedEvent, validateEvent } from './validate-event';

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

/** What publishing needs of a request. */
export interface PublishRequest extends Premise {
  readonly apiKey: Pick<Principal, 'accountId' | 'eventTypes'>;
  readonly requestId: string;
  /** Its position in a trace, if it has one. */
  readonly trace?: TraceContext | undefined;
  /** Milliseconds since the Unix epoch. */
  readonly receivedAt: number;
  /** For events without an id. */
  readonly newId: NewId;
}

export interface TestRequest extends PublishRequest {
  /** Absent: it is not recorded. */
  readonly act?: Act;
}

export interface Acceptance {
  readonly event: AcceptedEvent;
  /** `false` for an event that had been accepted before, under the same id. */
  readonly isNew: boolean;
}

/** What became of events that were dispatched. */
interface DispatchResult {
  /** Those whose ids this request marked first. */
  readonly isFirst: ReadonlySet<Candidate>;
  /** Those that are not dispatched, because they were accepted before Redis forgot them. */
  readonly known: ReadonlyMap<AcceptedEvent, Acceptance | AppError>;
}

const NONE_KNOWN: DispatchResult['known'] = new Map();

// Checking this many takes a millisecond or two.
const AT_ONCE = 50;

/** The way in for all events: over HTTP, from the queue of events, and those whose time has come. */
export class Publishing {
  constructor(
    private readonly parts: PublishingParts,
    private readonly scheduledEvents: ScheduledEvents,
  ) {}

  /**
   * Take events from a producer: check each, and dispatch the valid ones. When the promise resolves, Redis has
   * them and they will be delivered.
   *
   * An id is claimed before its event is dispatched and marked after. A request that is repeated because it
   * broke off in between finds the claim open, and dispatches the same event.
   *
   * @param published an item that could not be read as an event is in the list as its error.
   * @returns for each event, in the same order, its acceptance or the reason of its refusal: `invalid_request`,
   *   `payload_too_large`, or `event_id_conflict` when its id belongs to another event.
   * @throws Error of Redis when it did not accept them all; some may still be delivered.
   * @throws NoLongerTrue when the assumption does not hold; then nothing was stored.
   */
  async accept(
    request: PublishRequest,
    published: readonly (PublishedEvent | AppError)[],
  ): Promise<(Acceptance | AppError)[]> {
    const { parts } = this;
    const resolve = await lookUpEndpoints(parts, request.apiKey.accountId, published.flatMap(refsOf));
    const prepared = await eachGood(published, (event) => prepare(parts, event, request, resolve));
    const claims = await claimIds(parts, prepared, request);
    const candidates =
      claims.size === 0
        ? prepared
        : await eachGood(prepared, (candidate) => applyClaim(parts, candidate, claims.get(candidate)));
    const dispatched = await this.#dispatch(candidates, request);
    return candidates.map((candidate) => {
      const known = candidate instanceof AppError ? candidate : dispatched.known.get(candidate.event);
      return known ?? conclude(parts, candidate as Candidate, request, dispatched.isFirst);
    });
  }

  async #dispatch(
    candidates: readonly (Candidate | AppError)[],
    request: PublishRequest,
  ): Promise<DispatchResult> {
    const { parts } = this;
    const events = candidates.flatMap(eventToDispatch);
    const scheduled = events.filter(isScheduled);
    const routed = await routeEvents(
      parts,
      events.filter((event) => !isScheduled(event)),
      request,
    );
    const store = async (isStored: (event: AcceptedEvent) => boolean) => {
      await this.scheduledEvents.add(scheduled.filter(isStored), request);
      const here = routed.here.filter(({ event }) => isStored(event));
      await dispatchEvents(parts, { here, elsewhere: routed.elsewhere.filter(isStored) }, request);
      return await markQueued(
        parts,
        candidates.filter((one) => !(one instanceof AppError) && isStored(one.event)),
      );
    };
    if (!parts.intake) return { isFirst: await store(() => true), known: NONE_KNOWN };
    const later = [...scheduled, ...routed.elsewhere].map((event) => ({
      event,
      endpointIds: event.endpointIds,
    }));
    const now = routed.here.map(({ event, receivers }) => ({
      event,
      endpointIds: receivers.map(({ id }) => id),
    }));
    // Nothing is kept for a key that was revoked a moment ago.
    await request.assumption?.confirm();
    const { known, result } = await storeOnceKept(parts, parts.intake, [...later, ...now], store);
    return { isFirst: result ?? new Set(candidates.filter(isOpen)), known };
  }

  /**
   * Send the catalogue's example of a type to one endpoint, whether it subscribes to that type or not: a normal
   * event, aimed at it.
   *
   * @param type absent: the first one in the catalogue that the endpoint subscribes to.
   * @throws AppError `not_found`; `invalid_request` for an unknown type.
   */
  async test(request: TestRequest, ref: EndpointRef, type?: string): Promise<DeliveryParts> {
    const { deliveryStore, auditLog } = this.parts;
    const { apiKey, requestId, trace, receivedAt, newId, requireClaim, act } = request;
    const { accountId } = apiKey;
    const endpoint = await readEndpoint(this.parts, accountId, ref);
    const { name, example: data } = await chooseType(this.parts, endpoint, type);
    const eventId = newId(EVENT_ID_PREFIX) as EventId;
    const delivery = { eventId, endpointId: endpoint.id };
    if (act) await auditLog.record({ act, accountId, targetId: endpoint.id });
    // Recorded before anything can be sent, so that the first attempt knows its purpose.
    await deliveryStore.append(delivery, {
      kind: 'requested',
      requestId: eventId,
      trigger: 'test',
      requestedAt: receivedAt,
    });
    // The event's id is known already.
    const sameId: NewId = (prefix) => (prefix === EVENT_ID_PREFIX ? eventId : newId(prefix));
    const [outcome] = await this.accept(
      // Whoever may change the webhook may test it with any type.
      { apiKey: { accountId }, requestId, trace, receivedAt, requireClaim, newId: sameId },
      [{ type: name, data, dataText: JSON.stringify(data), endpointRefs: [endpoint.id] }],
    );
    if (outcome === undefined || outcome instanceof AppError) throw outcome;
    return delivery;
  }

  /**
   * Take a job of the queue of events: an event that the API has accepted, one that a producer has pushed, or the
   * name of one whose time has come. Repeating it is harmless.
   *
   * @returns the reason of its refusal if there is nothing to send and somebody has to know: `invalid_request` or
   *   `payload_too_large` for an invalid event, `quota_exceeded`, `not_found` for a scheduled one that has lapsed.
   */
  async take(job: EventJob): Promise<AppError | undefined> {
    const due = scheduledEventSchema.safeParse(job.data).data;
    if (due) {
      return await this.#takeDue({ accountId: due.account_id, eventId: due.id, deliverAt: due.due_at });
    }
    const read = await readEventJob(this.parts, job).catch(refusalOf);
    if (read instanceof AppError) return read;
    await this.#takeRead(read);
    return undefined;
  }

  /**
   * Send an event again that was accepted, and of which Redis has lost something. Repeating it is harmless.
   *
   * @param endpointIds those that have not got it; `undefined`: they are still to be found.
   * @param toSome whether it is sent if only some of them are there.
   * @returns to how many; 0: it is not sent, and its webhooks may be lost as well.
   */
  async sendAgain(
    event: AcceptedEvent,
    endpointIds: readonly EndpointId[] | undefined,
    toSome: boolean,
  ): Promise<number> {
    const { parts } = this;
    const subscriptions = await parts.subscriptions.current(event.accountId);
    const aimed = { ...event, ...(endpointIds && { endpointIds }) };
    const { receivers } = await routeEvent(parts, aimed, subscriptions);
    const wanted = endpointIds && !toSome ? endpointIds.length : 1;
    if (receivers.length < wanted) return 0;
    const now = event.schedule ? await this.scheduledEvents.findLostDue(event, event.schedule) : event;
    if (now) await fanOutEvents(parts, [{ event: { ...now, isQueued: true }, receivers }], { isLost: true });
    else await this.scheduledEvents.add([aimed]);
    return receivers.length;
  }

  async #takeRead({ event: read, source }: ReadEvent): Promise<void> {
    const { movedIds, emit } = this.parts;
    if (await this.#wasSent(read)) return;
    const event: AcceptedEvent = movedIds ? { ...read, isQueued: true } : read;
    if (event.schedule) await this.scheduledEvents.add([event]);
    else await this.#fanOut(event);
    // The API has announced its own events.
    if (source === 'http') return;
    emit({
      name: 'event.accepted',
      source,
      accountId: event.accountId,
      eventId: event.id,
      type: event.type,
      bytes: Buffer.byteLength(event.body),
    });
  }

  async #takeDue(entry: ScheduledEntry): Promise<AppError | undefined> {
    const { accountId, eventId } = entry;
    const event = await this.scheduledEvents.begin(entry);
    if (event === undefined || (await this.#wasSent({ accountId, id: eventId }))) return undefined;
    if (event === 'lapsed') return lapsed(eventId);
    await this.#fanOut({ ...event, isQueued: true, isStored: true });
    return undefined;
  }

  async #fanOut(event: AcceptedEvent): Promise<void> {
    const subscriptions = await this.parts.subscriptions.current(event.accountId);
    await fanOutEvents(this.parts, [await routeEvent(this.parts, event, subscriptions)]);
  }

  // A worker may have ended the fan-out and died before its job has ended, or a producer has pushed the event
  // once more. With a history the deliveries may have moved there since: then they must not be made again.
  async #wasSent({ accountId, id }: Pick<AcceptedEvent, 'accountId' | 'id'>): Promise<boolean> {
    const { movedIds, clock } = this.parts;
    return (await movedIds?.wasSent({ accountId, id, isQueued: true }, clock())) ?? false;
  }
}

function isScheduled({ schedule }: AcceptedEvent): boolean {
  return schedule !== undefined;
}

async function prepare(
  parts: PublishingParts,
  published: PublishedEvent,
  request: PublishRequest,
  resolve: ResolvedEndpoints,
): Promise<Candidate> {
  const { type, endpointRefs, group } = published;
  const { apiKey, requestId, receivedAt, trace } = request;
  requireMayPublish(apiKey, type);
  const schedule = await scheduleFor(parts, published, request);
  const id = published.id ?? (request.newId(EVENT_ID_PREFIX) as EventId);
  const body = await validateEvent(parts.eventTypeStore, parts.maxEventBytes, published, apiKey.eventTypes);
  const endpointIds = endpointRefs && resolve(endpointRefs);
  const event: AcceptedEvent = {
    id,
    accountId: apiKey.accountId,
    type,
    body,
    acceptedAt: schedule?.deliverAt ?? receivedAt,
    requestId,
    ...(published.id === undefined ? {} : { isClaimed: true }),
    ...(endpointIds === undefined ? {} : { endpointIds }),
    ...(trace === undefined ? {} : { trace }),
    ...(schedule === undefined ? {} : { schedule }),
    ...(group === undefined ? {} : { group }),
  };
  return { event, hasOwnId: published.id !== undefined };
}

function requireMayPublish({ eventTypes }: PublishRequest['apiKey'], type: string): void {
  if (eventTypes === undefined || eventTypes.some((filter) => matchesType(filter, type))) return;
  throw new AppError(
    'insufficient_scope',
    `This API key may not publish "${type}". Its "event_types": ${eventTypes.join(', ')}.`,
  );
}

// The time was checked when the event was first published. A repeated request is not refused because of it.
async function scheduleFor(
  { eventStore, movedIds, atomic, scheduleMaxMs }: PublishingParts,
  { id, deliverAt }: PublishedEvent,
  { apiKey: { accountId }, receivedAt }: PublishRequest,
): Promise<Schedule | undefined> {
  if (id !== undefined && deliverAt !== undefined && isPast(deliverAt, receivedAt)) {
    const head = await eventStore.findHead(accountId, id);
    if (head?.schedule) return { state: 'waiting', publishedAt: receivedAt, deliverAt };
    if (head) return undefined;
    const sentState = movedIds && (await atomic([movedIds.look(accountId, id, receivedAt)]))[0];
    if (sentState?.moved) return undefined;
  }
  return scheduleOf(deliverAt, receivedAt, scheduleMaxMs);
}

function conclude(
  { emit }: PublishingParts,
  candidate: Candidate,
  { requestId, trace }: PublishRequest,
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
  return isOpen(candidate) ? [candidate.event] : [];
}

function isOpen(candidate: Candidate | AppError): candidate is Candidate {
  if (candidate instanceof AppError) return false;
  const { claimState } = candidate;
  return claimState === undefined || claimState === 'open';
}

async function chooseType(
  { eventTypes }: PublishingParts,
  { events }: Endpoint,
  wanted: string | undefined,
): Promise<EventTypeView> {
  if (wanted !== undefined) return await eventTypes.readNamed(wanted, '/event_type');
  // Through `*`, since that matches no operational event.
  const types = (await eventTypes.list()).filter(({ name }) => matchesType(EVERY_EVENT, name));
  const asked = types.find(({ name }) => events.some((filter) => matchesType(filter, name)));
  const any = asked ?? types[0];
  if (any) return any;
  const detail = 'names no type: there is none yet. Add one with PUT /v1/event-types/{name}';
  throw invalidRequest([{ pointer: '/event_type', detail }]);
}

function lapsed(id: EventId): AppError {
  return new AppError(
    'not_found',
    `The scheduled event "${id}" was not sent: no worker processed it within RETENTION after it was due.`,
  );
}
