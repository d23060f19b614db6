import type { EndpointsVersion, Subscriptions } from '../endpoints/subscriptions';
import type { Clock } from '../kernel/clock';
import type { AcceptedEvent, AccountId } from '../model/event';
import type { Emit } from '../model/signal';
import type { BeginSpan } from '../model/trace';
import type { EventQueue } from './accept-events';
import { type FanOutEvent, type RoutedEvent, routeEvent } from './fan-out-event';
import { type TracedEvent, traceEvent } from './trace-event';

export interface DispatchEventsDeps {
  readonly subscriptions: Pick<Subscriptions, 'current'>;
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

/**
 * Brings events on their way: those with few receivers to their deliveries' queue at once, others to the queue of events,
 * where a worker does the same. Resolves once Redis has all that is needed; doing it again is harmless.
 *
 * @param version of the account's endpoints, if it was read since the events came in.
 * @throws AppError `quota_exceeded`; then none of them is on its way.
 */
export function createDispatchEvents(deps: DispatchEventsDeps) {
  const { subscriptions, fanOutEvent, eventQueue, requireRoom, beginSpan, clock, emit } = deps;

  return async function dispatchEvents(
    events: readonly AcceptedEvent[],
    version?: Promise<EndpointsVersion>,
  ): Promise<void> {
    // Those of a request are one account's.
    const [first] = events;
    if (first === undefined) return;
    const ofAccount = await subscriptions.current(first.accountId, version);
    await requireRoom(first.accountId);
    const routed = events.map((event) => routeEvent(event, ofAccount));
    const { here, elsewhere } = divide(routed);
    await Promise.all([
      here.length > 0 ? fanOutEvent(here) : undefined,
      elsewhere.length > 0 ? enqueue(elsewhere) : undefined,
    ]);
  };

  async function enqueue(routed: readonly RoutedEvent[]): Promise<void> {
    const startedAt = clock();
    const traced: readonly TracedEvent[] = beginSpan
      ? routed.map(({ event }) => traceEvent(event, beginSpan, startedAt))
      : routed;
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

// From the first event that is too much on, so that an account's events stay in the order in which they came.
function divide(routed: readonly RoutedEvent[]) {
  let deliveries = 0;
  const end = routed.findIndex(({ receivers }) => {
    deliveries += receivers.length;
    return receivers.length > MOST_RECEIVERS || deliveries > MOST_DELIVERIES;
  });
  return end < 0
    ? { here: routed, elsewhere: [] }
    : { here: routed.slice(0, end), elsewhere: routed.slice(end) };
}
