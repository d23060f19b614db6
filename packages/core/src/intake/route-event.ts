import { setImmediate } from 'node:timers/promises';
import type { Subscriber } from '../endpoints/stored-endpoint';
import type { AccountSubscriptions } from '../endpoints/subscriptions';
import { steadyClock } from '../kernel/clock';
import { createTurns } from '../kernel/turns';
import { type AcceptedEvent, dataOf } from '../model/event';

/** An event, with those that it goes to. */
export interface RoutedEvent {
  readonly event: AcceptedEvent;
  readonly receivers: readonly Subscriber[];
}

// So long nobody else has a turn, but for a single filter, and parsing the data.
const SLICE_MS = 5;

/**
 * Finds who an event goes to: those of its account that asked for its type and whose filter lets its data pass, or those
 * that it is aimed at, whatever they asked for. The data are parsed only if somebody has a filter, and once.
 *
 * Where many have one, others have their turn in between; then one event after the other is looked at.
 */
export function createRouteEvent() {
  const takeTurn = createTurns();

  return async function routeEvent(
    event: AcceptedEvent,
    subscriptions: AccountSubscriptions,
  ): Promise<RoutedEvent> {
    const { type, endpointIds } = event;
    if (endpointIds !== undefined) return { event, receivers: subscriptions.presentOf(endpointIds) };
    const { subscribers, filterLength } = subscriptions.askersOf(type);
    if (filterLength === 0) return { event, receivers: subscribers };
    const passes = passesOf(event, subscriptions);
    const receivers: Subscriber[] = [];
    for (let next = 0; next < subscribers.length; ) {
      const slice = () => {
        next = takeSlice(subscribers, next, passes, receivers);
      };
      if (next === 0) slice();
      else await takeTurn(() => setImmediate().then(slice));
    }
    return { event, receivers };
  };
}

export type RouteEvent = ReturnType<typeof createRouteEvent>;

type Passes = (subscriber: Subscriber) => boolean;

function passesOf({ body }: AcceptedEvent, { compiled }: AccountSubscriptions): Passes {
  const data = dataOf(body);
  return ({ filter }) => filter === undefined || compiled(filter).matches(data);
}

/** Adds those from `start` on that pass to `receivers`, until its time is over. Gives where to go on. */
function takeSlice(
  subscribers: readonly Subscriber[],
  start: number,
  passes: Passes,
  receivers: Subscriber[],
): number {
  const endsAt = steadyClock() + SLICE_MS;
  let at = start;
  for (; at < subscribers.length && steadyClock() < endsAt; at += 1) {
    const subscriber = subscribers[at];
    if (subscriber && passes(subscriber)) receivers.push(subscriber);
  }
  return at;
}
