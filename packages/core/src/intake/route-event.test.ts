import type { Subscriber } from '../endpoints/stored-endpoint';
import { createSubscriptions } from '../endpoints/subscriptions';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { createRouteEvent } from './route-event';

const TYPE = 'keyword.quick_win';
const eventWith = (data: string) => buildEvent({ type: TYPE, body: `{"type":"${TYPE}","data":${data}}` });

function subscriber(filter?: unknown, change: Partial<Subscriber> = {}): Subscriber {
  const text = filter === undefined ? {} : { filter: JSON.stringify(filter) };
  return { ...buildEndpoint(), ...text, ...change };
}

async function route(event: ReturnType<typeof eventWith>, subscribers: readonly Subscriber[]) {
  const subscriptions = createSubscriptions({
    version: async () => '1',
    listSubscribers: async () => subscribers,
  });
  const { receivers } = await createRouteEvent()(event, await subscriptions.current(event.accountId));
  return receivers;
}

it('gives an event to those whose filter lets it pass, and to those that have none', async () => {
  const [near, far, all] = [
    subscriber({ position: { lte: 10 } }),
    subscriber({ position: 50 }),
    subscriber(),
  ];
  const others = subscriber(undefined, { events: ['brief.created'] });
  const given = [near, far, all, others];
  expect(await route(eventWith('{"position":4}'), given)).toEqual([near, all]);
  expect(await route(eventWith('{"position":50}'), given)).toEqual([far, all]);
  expect(await route(eventWith('null'), given)).toEqual([all]);
});

it('gives an event that is aimed at endpoints to them, whatever their filters', async () => {
  const [one, other] = [subscriber({ position: 1 }), subscriber({ position: 2 })];
  const event = { ...eventWith('{"position":4}'), endpointIds: [other.id] };
  expect(await route(event, [one, other])).toEqual([other]);
});

it('parses the data only if somebody who asked for the type has a filter', async () => {
  const unreadable = buildEvent({ type: TYPE, body: 'no JSON' });
  const filtered = subscriber({ position: 1 }, { events: ['brief.created'] });
  expect(await route(unreadable, [subscriber(), filtered])).toHaveLength(1);
  await expect(route(unreadable, [subscriber({ position: 1 })])).rejects.toThrow(SyntaxError);
});

it('lets others have their turn while very many filters are asked, and forgets none', async () => {
  const slow = { $any: Array.from({ length: 10 }, (_, index) => ({ text: { contains: `aaab${index}` } })) };
  const subscribers = Array.from({ length: 500 }, (_, index) =>
    subscriber(index % 5 === 0 ? { text: { exists: true } } : { ...slow, [`n${index}`]: { exists: false } }),
  );
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const receivers = await route(eventWith(JSON.stringify({ text: 'a'.repeat(100_000) })), subscribers);
  isOver = true;
  expect(receivers).toEqual(subscribers.filter((_, index) => index % 5 === 0));
  expect(turns).toBeGreaterThan(3);
});
