import type { PauseStore } from '../accounts/redis-pause-store';
import type { AccountId } from '../domain/account';
import { type HoldReason, holdWords } from '../domain/delivery';
import { type Endpoint, type EndpointId, type EndpointRef, isAsleep } from '../domain/endpoint';
import {
  dataOf,
  type EventHead,
  type EventId,
  eventNotFound,
  type StoredEvent,
  statusOfEvent,
} from '../domain/event';
import { EVERY_EVENT, matchesType } from '../endpoints/filters/event-filters';
import { describeFailure, type Explained, readStoredFilter } from '../endpoints/filters/payload-filter';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { Subscriber } from '../endpoints/redis-subscriptions';
import { requireEndpoint } from '../endpoints/resolve-endpoints';
import { isUnreadableSecret } from '../endpoints/seal';
import { scanPage } from '../platform/batches';
import { formatTime } from '../platform/clock';
import { historyUnavailable } from './database/pg-database';
import type { Deliveries, Delivery } from './deliveries';
import type { WholeHistory } from './whole-history';

/** Why an endpoint has no delivery of an event. */
export const unsentReasons = [
  'not_due',
  'event_cancelled',
  'not_addressed',
  'registered_later',
  'disconnected',
  'not_subscribed',
  'payload_erased',
  'filtered',
  'changed',
  'unknown',
] as const;
export type UnsentReason = (typeof unsentReasons)[number];

/** Whether an event went to an endpoint, and why not: by what both are now. */
export interface Explanation {
  readonly endpointId: EndpointId;
  /** Absent: its record can't be read, or its settings are not to be shown. */
  readonly endpoint?: Pick<Endpoint, 'url' | 'uid'> | undefined;
  /** Absent: the event has none for it. */
  readonly delivery?: Delivery | undefined;
  /** Why it has no delivery, or why this one is held. Absent: neither. */
  readonly reason?: UnsentReason | HoldReason | undefined;
  /** A sentence or two for people. */
  readonly detail: string;
  /** The conditions of its filter that left the event out. */
  readonly conditions: readonly Explained[];
  /** Whether it was changed after the event was accepted: what is said of it may have been different then. */
  readonly hasChanged: boolean;
}

/** Which endpoints are asked about. */
export interface ExplainQuery {
  readonly endpoint?: EndpointRef | undefined;
  /** Only those with a delivery of the event, or without one. Absent: both. */
  readonly hasDelivery?: boolean | undefined;
  /** Only those that subscribe to its type, or do not. Absent: both. */
  readonly isSubscribed?: boolean | undefined;
  /** Whether the answer may have settings of endpoints: URLs, and conditions of filters. */
  readonly showsSettings: boolean;
}

export interface ExplanationPage {
  readonly explanations: readonly Explanation[];
  readonly nextCursor: EndpointId | undefined;
}

export interface ExplanationsParts {
  readonly history: WholeHistory;
  readonly deliveries: Deliveries;
  readonly endpointStore: EndpointStore;
  readonly pauseStore: PauseStore;
}

interface AskedEvent {
  readonly head: EventHead;
  readonly event: StoredEvent;
  /** Whether an operator has paused the queue of deliveries. */
  readonly isPaused: boolean;
  /** Parsed on first demand. */
  readonly data: () => unknown;
}

type Subscription = Pick<Subscriber, 'id' | 'events' | 'filter'>;

interface Candidate {
  readonly subscriber: Subscription;
  readonly delivery: Delivery | undefined;
}

// Ids, types and filters alone are read of those that are left out.
const MOST_SCANNED = 2_000;
const DELIVERIES_AT_ONCE = 200;

/**
 * Why an event went to an endpoint, or did not. Nothing is recorded of endpoints that get no delivery: it is worked out when
 * somebody asks, from what is there now.
 */
export class Explanations {
  constructor(private readonly parts: ExplanationsParts) {}

  /**
   * Explain an event for the account's endpoints, those registered last first. A page reads a bounded number of them.
   *
   * @throws AppError `not_found` for an unknown event or endpoint, `history_unavailable`.
   */
  async list(
    accountId: AccountId,
    eventId: EventId,
    query: ExplainQuery,
    limit: number,
    before?: EndpointId,
  ): Promise<ExplanationPage> {
    const asked = await this.#readEvent(accountId, eventId);
    if (query.endpoint !== undefined) {
      const all = before === undefined ? await this.#readOne(accountId, asked, query.endpoint) : [];
      const wanted = all.filter((one) => isWanted(one, asked, query));
      return { explanations: await this.#explainAll(accountId, asked, wanted, query), nextCursor: undefined };
    }
    const { found, nextCursor } = await scanPage<Candidate, Candidate, EndpointId>({
      limit,
      before,
      mostScanned: MOST_SCANNED,
      readBatch: (size, from) => this.#readBatch(accountId, asked, size, from),
      cursorOf: ({ subscriber }) => subscriber.id,
      show: async (candidate) => (isWanted(candidate, asked, query) ? candidate : undefined),
    });
    return { explanations: await this.#explainAll(accountId, asked, found, query), nextCursor };
  }

  async #readEvent(accountId: AccountId, id: EventId): Promise<AskedEvent> {
    const { history, pauseStore } = this.parts;
    const [head, event, pause] = await Promise.all([
      history.findHead(accountId, id),
      history.findEvent(accountId, id),
      pauseStore.find({ kind: 'queue', id: 'deliveries' }),
    ]);
    if (!head || !event) throw eventNotFound();
    let data: { readonly parsed: unknown } | undefined;
    return {
      head,
      event,
      isPaused: pause !== undefined,
      data: () => {
        data ??= { parsed: event.body === undefined ? undefined : dataOf(event.body) };
        return data.parsed;
      },
    };
  }

  async #readOne(
    accountId: AccountId,
    { event }: AskedEvent,
    ref: EndpointRef,
  ): Promise<readonly Candidate[]> {
    const { endpointStore, deliveries } = this.parts;
    const id = await requireEndpoint({ endpointStore }, accountId, ref);
    const endpoint = await endpointStore.find(accountId, id);
    const scope = { endpoint: id, eventId: event.id };
    const page = await deliveries.list(accountId, scope, {}, 1);
    if (page.isCutShort) throw historyUnavailable();
    return endpoint ? [{ subscriber: endpoint, delivery: page.deliveries[0] }] : [];
  }

  async #readBatch(accountId: AccountId, { event }: AskedEvent, size: number, from: EndpointId | undefined) {
    const page = await this.parts.endpointStore.listSubscribersByPage(accountId, size, from);
    const last = page.nextCursor ?? page.subscribers.at(-1)?.id;
    const sent = last === undefined ? new Map() : await this.#deliveriesTo(accountId, event.id, from, last);
    const entries = page.subscribers.map((subscriber) => ({
      subscriber,
      delivery: sent.get(subscriber.id),
    }));
    return { entries, nextCursor: page.nextCursor };
  }

  /** The event's deliveries to the endpoints behind one, up to another one: both lists are in the order of their ids. */
  async #deliveriesTo(
    accountId: AccountId,
    eventId: EventId,
    from: EndpointId | undefined,
    last: EndpointId,
  ): Promise<ReadonlyMap<EndpointId, Delivery>> {
    const found = new Map<EndpointId, Delivery>();
    let cursor = from;
    do {
      const page = await this.parts.deliveries.listOfEvent(
        accountId,
        eventId,
        {},
        DELIVERIES_AT_ONCE,
        cursor,
      );
      if (page.isCutShort) throw historyUnavailable();
      for (const delivery of page.deliveries) found.set(delivery.endpointId, delivery);
      cursor = page.nextCursor;
    } while (cursor !== undefined && cursor > last);
    return found;
  }

  /** One after the other: a filter takes up to half a millisecond, and others have their turn in between. */
  async #explainAll(
    accountId: AccountId,
    asked: AskedEvent,
    candidates: readonly Candidate[],
    { showsSettings }: ExplainQuery,
  ): Promise<readonly Explanation[]> {
    const explanations: Explanation[] = [];
    for (const candidate of candidates) {
      const { id } = candidate.subscriber;
      const endpoint = await this.parts.endpointStore.find(accountId, id).catch(undefinedIfUnreadable);
      const explanation = explain(asked, candidate, endpoint);
      explanations.push(showsSettings ? explanation : withoutSettings(explanation));
    }
    return explanations;
  }
}

function withoutSettings({ endpoint: _endpoint, ...explanation }: Explanation): Explanation {
  if (explanation.reason !== 'filtered') return explanation;
  return { ...explanation, conditions: [], detail: 'Its filter does not let the event pass.' };
}

function undefinedIfUnreadable(error: unknown): undefined {
  if (isUnreadableSecret(error)) return undefined;
  throw error;
}

function isWanted(
  { subscriber, delivery }: Candidate,
  { head }: AskedEvent,
  { hasDelivery, isSubscribed }: ExplainQuery,
): boolean {
  if (hasDelivery !== undefined && hasDelivery !== (delivery !== undefined)) return false;
  return isSubscribed === undefined || isSubscribed === asksFor(subscriber, head.type);
}

function asksFor({ events }: Subscription, type: string): boolean {
  return events.some((filter) => matchesType(filter, type));
}

interface Why extends Pick<Explanation, 'detail'> {
  readonly reason?: Explanation['reason'];
  readonly conditions?: readonly Explained[];
  /** It is by the settings of the endpoint, which may have been different. */
  readonly isBySettings?: true;
}

function explain(
  asked: AskedEvent,
  { subscriber, delivery }: Candidate,
  endpoint: Endpoint | undefined,
): Explanation {
  const hasChanged = endpoint !== undefined && endpoint.updatedAt > asked.head.acceptedAt;
  const why = delivery
    ? howSent(delivery, endpoint, asked.isPaused)
    : whyUnsent(asked, endpoint ?? subscriber, endpoint, hasChanged);
  const { reason, detail, conditions = [], isBySettings } = why;
  return {
    endpointId: subscriber.id,
    endpoint,
    delivery,
    reason,
    detail: isBySettings && hasChanged ? `${detail} ${BY_PRESENT_SETTINGS}` : detail,
    conditions,
    hasChanged,
  };
}

const BY_PRESENT_SETTINGS =
  'That is by its settings of now: it was changed after the event was accepted, and may have been different.';

function whyUnsent(
  { head, event, data }: AskedEvent,
  subscription: Subscription,
  endpoint: Endpoint | undefined,
  hasChanged: boolean,
): Why {
  const status = statusOfEvent(head);
  if (status === 'scheduled') {
    const at = formatTime(head.schedule?.deliverAt ?? head.acceptedAt);
    return { reason: 'not_due', detail: `The event is scheduled. It is sent at ${at}.` };
  }
  if (status === 'cancelled')
    return { reason: 'event_cancelled', detail: 'The event was cancelled before it was due.' };
  if (head.isAimed) {
    const detail = 'The event names the webhooks that get it ("webhook_ids"), and this is none of them.';
    return { reason: 'not_addressed', detail };
  }
  if (endpoint && endpoint.createdAt > head.acceptedAt) {
    const detail = `The webhook was registered later, at ${formatTime(endpoint.createdAt)}. A replay sends it the event.`;
    return { reason: 'registered_later', detail };
  }
  if (endpoint && isAsleep(endpoint)) {
    return { reason: 'disconnected', detail: 'No client was connected to this listener for a while.' };
  }
  if (!asksFor(subscription, head.type)) return notSubscribed(subscription, head.type);
  return whyFiltered(event, data, subscription.filter) ?? leftOut(hasChanged);
}

function notSubscribed({ events }: Subscription, type: string): Why {
  const isByName = events.includes(EVERY_EVENT);
  const detail = isByName
    ? `"${type}" is an operational event type, which "*" does not include: it has to be in the webhook's "events".`
    : `Its "events" do not include "${type}".`;
  return { reason: 'not_subscribed', detail, isBySettings: true };
}

function whyFiltered(
  { body }: StoredEvent,
  data: () => unknown,
  filter: string | undefined,
): Why | undefined {
  if (filter === undefined) return undefined;
  if (body === undefined) {
    const detail =
      'The webhook has a filter, and the payload of the event was erased: nobody can tell any more whether it passed.';
    return { reason: 'payload_erased', detail, isBySettings: true };
  }
  // The filter is parsed each time: this is for a question that somebody asks, and not for each event.
  const conditions = readStoredFilter(filter).explainFailure(data());
  if (conditions.length === 0) return undefined;
  const failures = conditions.map(describeFailure).join('; ');
  return {
    reason: 'filtered',
    detail: `Its filter does not let the event pass: ${failures}.`,
    conditions,
    isBySettings: true,
  };
}

/** By its settings of now, it should have got the event. */
function leftOut(hasChanged: boolean): Why {
  if (hasChanged) {
    const detail =
      'By its settings of now it would get the event. It was changed after the event was accepted: its former settings left the event out.';
    return { reason: 'changed', detail };
  }
  return {
    reason: 'unknown',
    detail: 'By its settings it gets such events. This one may still be on its way: look again in a minute.',
  };
}

/** How its delivery stands: why it waits, the result of its last attempt, and when it is tried next. */
function howSent(delivery: Delivery, endpoint: Endpoint | undefined, isPaused: boolean): Why {
  const { status, hold } = delivery;
  const attempts = [lastAttemptOf(delivery), nextAttemptOf(delivery)];
  if (status === 'held' && hold) {
    const by = hold.reason === 'disabled' ? endpoint?.disabledReason : undefined;
    const disabledBy = by === undefined ? '' : ` ("disabled_reason": "${by}")`;
    const until = hold.until === undefined ? '' : `, until ${formatTime(hold.until)} at the latest`;
    const { cause, ends } = holdWords[hold.reason];
    const why = hold.waitsFor === undefined ? cause : `the event ${hold.waitsFor} goes first`;
    const isHeld = `Its delivery is held: ${why}${disabledBy}${until}.`;
    const end = hold.until === undefined ? `It is sent ${ends}.` : '';
    return { reason: hold.reason, detail: sentencesOf(isHeld, end, ...attempts) };
  }
  const stands = `It has a delivery, which is ${status}.`;
  if (status === 'delivered' || status === 'cancelled') return { detail: stands };
  const pause = isPaused && status === 'pending' ? QUEUE_IS_PAUSED : '';
  return { detail: sentencesOf(stands, pause, ...attempts) };
}

const QUEUE_IS_PAUSED =
  'An operator has paused the queue of deliveries: nothing is sent until it is resumed.';

function lastAttemptOf({ attemptCount, lastOutcome, lastResponseStatus: status }: Delivery): string {
  if (lastOutcome === undefined) return '';
  const response = status === undefined ? '' : ` (HTTP ${status})`;
  return `Attempt ${attemptCount} had the outcome ${lastOutcome}${response}.`;
}

function nextAttemptOf({ nextAttemptAt }: Delivery): string {
  return nextAttemptAt === undefined ? '' : `The next attempt is due at ${formatTime(nextAttemptAt)}.`;
}

function sentencesOf(...sentences: readonly string[]): string {
  return sentences.filter((sentence) => sentence !== '').join(' ');
}
