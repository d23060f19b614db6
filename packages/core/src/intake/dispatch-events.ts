import type { AccountSubscriptions, EndpointsVersion, Subscriptions } from '../endpoints/subscriptions';
import type { Clock } from '../kernel/clock';
import type { AcceptedEvent, AccountId } from '../model/event';
import type { Emit } from '../model/signal';
import type { BeginSpan } from '../model/trace';
import type { EventQueue } from './accept-events';
import type { FanOutEvent } from './fan-out-event';
import type { RoutedEvent, RouteEvent } from './route-event';
import { type TracedEvent, traceEvent } from './trace-event';

export interface DispatchEventsDeps {
  readonly subscriptions: Pick<Subscriptions, 'current'>;
  readonly routeEvent: RouteEvent;
  readonly fanOutEvent: FanOutEvent;
  readonly eventQueue: EventQueue;
  /** Throws `quota_exceeded` for an account that, as was just read, stores as much as it may. */
  readonly requireRoom: (accountId: AccountId) => Promise<void>;
  /** Absent: traces are not wanted. */
  readonly beginSpan?: BeginSpan | undefined;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** An event that goes to more receivers than these is fanned out by a worker: whoever publishes it does not wait for that. */
const MOST_RECEIVERS = 32;
/** The same for the deliveries of all events of a request together. */
const MOST_DELIVERIES = 1_000;
/** The same for the filters that are asked for a request, together, and for the data that one looks at. */
const MOST_FILTER_CHARACTERS = 64 * 1024;
const MOST_FILTERED_CHARACTERS = 16 * 1024;

/**
 * Brings events on their way: those with few receivers, that are soon found, to their deliveries' queue at once, others to the queue of events,
 * where a worker does the same. Resolves once Redis has all that is needed; doing it again is harmless.
 *
 * @param version of the account's endpoints, if it was read since the events came in.
 * @throws AppError `quota_exceeded`; then none of them is on its way.
 */
export function createDispatchEvents(deps: DispatchEventsDeps) {
  const { subscriptions, routeEvent, fanOutEvent, eventQueue, requireRoom, beginSpan, clock, emit } = deps;

  return async function dispatchEvents(
    events: readonly AcceptedEvent[],
    version?: Promise<EndpointsVersion>,
  ): Promise<void> {
    // Those of a request are one account's.
    const [first] = events;
    if (first === undefined) return;
    const ofAccount = await subscriptions.current(first.accountId, version);
    await requireRoom(first.accountId);
    const { here, elsewhere } = await divide(events, ofAccount);
    await Promise.all([
      here.length > 0 ? fanOutEvent(here) : undefined,
      elsewhere.length > 0 ? enqueue(elsewhere) : undefined,
    ]);
  };

  // From the first event that is too much on, so that an account's events stay in the order in which they came.
  async function divide(events: readonly AcceptedEvent[], ofAccount: AccountSubscriptions) {
    const here: RoutedEvent[] = [];
    let deliveries = 0;
    let filtering = 0;
    for (const [index, event] of events.entries()) {
      filtering += filteringOf(event, ofAccount);
      const routed = filtering > MOST_FILTER_CHARACTERS ? undefined : await routeEvent(event, ofAccount);
      deliveries += routed?.receivers.length ?? 0;
      if (!routed || routed.receivers.length > MOST_RECEIVERS || deliveries > MOST_DELIVERIES) {
        return { here, elsewhere: events.slice(index) };
      }
      here.push(routed);
    }
    return { here, elsewhere: [] };
  }

  async function enqueue(events: readonly AcceptedEvent[]): Promise<void> {
    const startedAt = clock();
    const traced: readonly TracedEvent[] = beginSpan
      ? events.map((event) => traceEvent(event, beginSpan, startedAt))
      : events.map((event) => ({ event }));
    await eventQueue.addAll(traced.map(({ event }) => event));
    const durationMs = clock() - startedAt;
    for (const { event, span } of traced) {
      emit({
        name: 'event.queued',
        accountId: event.accountId,
        eventId: event.id,
        type: event.type,
        durationMs,
        ...(span === undefined ? {} : { span }),
      });
    }
  }
}

export type DispatchEvents = ReturnType<typeof createDispatchEvents>;

/** What it takes to ask the filters: how many characters they have, as far as that says it. */
function filteringOf({ type, body, endpointIds }: AcceptedEvent, ofAccount: AccountSubscriptions): number {
  const length = endpointIds === undefined ? ofAccount.askersOf(type).filterLength : 0;
  return length > 0 && body.length > MOST_FILTERED_CHARACTERS ? Number.POSITIVE_INFINITY : length;
}
