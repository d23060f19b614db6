import { catalogue } from '../accounts/event-types/built-in';
import type { EventTypes } from '../accounts/event-types/event-types';
import type { EventTypeStore } from '../accounts/event-types/redis-event-type-store';
import type { EventId, StoredEvent } from '../domain/event';
import { compilePayloadFilter } from '../endpoints/filters/payload-filter';
import { buildEvent } from '../testing/build-event';
import { fake } from '../testing/fake';
import { uniqueAccountId } from '../testing/unique-ids';
import { type LastEvents, Trials, type TrialsParts } from './trials';
import type { WholeHistory } from './whole-history';

const accountId = uniqueAccountId();
const filter = compilePayloadFilter({ position: { exists: true } });

/** An account's events, the newest first, and which of them are looked at. */
function arrange(events: readonly StoredEvent[]) {
  const looks = { heads: 0, bodies: 0 };
  const byId = new Map(events.map((event) => [event.id, event]));
  const parts = fake<TrialsParts>({
    history: fake<WholeHistory>({
      async findEvent(_account, id) {
        looks.bodies += 1;
        return byId.get(id);
      },
      async listEvents(_query, limit, before) {
        const start = before === undefined ? 0 : events.findIndex(({ id }) => id === before.eventId) + 1;
        const found = events
          .slice(start, start + limit)
          .map(({ id, type, acceptedAt }) => ({ id, type, createdAt: acceptedAt, deliveryCount: 0 }));
        looks.heads += found.length;
        const last = found.at(-1);
        const isMore = last !== undefined && start + limit < events.length;
        return { found, nextCursor: isMore ? { eventId: last.id, createdAt: last.createdAt } : undefined };
      },
    }),
    eventTypes: fake<EventTypes>({
      readNamed: async () => Promise.reject(new Error('Nobody asked for a type.')),
    }),
    eventTypeStore: fake<EventTypeStore>({
      builtInNames: catalogue.map(({ name }) => name),
      names: async () => [],
    }),
  });
  const tryOnLast = (last: Omit<LastEvents, 'kind'>) =>
    new Trials(parts).runFilter(accountId, filter, { kind: 'last', ...last });
  return { tryOnLast, looks };
}

const many = (count: number, change: Partial<ReturnType<typeof buildEvent>> = {}) =>
  Array.from({ length: count }, (_, index) =>
    buildEvent({ id: `e${index}` as EventId, accountId, ...change }),
  );

it('looks at no more events than it is told, however many there are', async () => {
  const { tryOnLast, looks } = arrange(many(1_000));
  expect(await tryOnLast({ most: 100 })).toHaveLength(100);
  expect(looks).toEqual({ heads: 100, bodies: 100 });
});

it('searches the last 300 events for those of a type, however many are of others', async () => {
  const { tryOnLast, looks } = arrange([...many(301), buildEvent({ accountId, type: 'brief.created' })]);
  expect(await tryOnLast({ most: 100, types: ['brief.*'] })).toEqual([]);
  expect(looks).toEqual({ heads: 300, bodies: 0 });
});

it('looks at 4 MiB of long events, and at one that is longer by itself', async () => {
  const lasting = (characters: number) => ({ body: JSON.stringify({ data: 'x'.repeat(characters) }) });
  const long = arrange(many(100, lasting(250_000)));
  expect(await long.tryOnLast({ most: 100 })).toHaveLength(16);
  const longer = arrange(many(2, lasting(5 * 1024 * 1024)));
  expect(await longer.tryOnLast({ most: 100 })).toHaveLength(1);
});
