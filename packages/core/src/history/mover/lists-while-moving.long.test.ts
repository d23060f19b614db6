import type { DeliveryFact } from '../../domain/delivery-fact';
import { encodeFact } from '../../domain/delivery-fact';
import { countAttempts, readLog, readSummary } from '../../domain/delivery-log';
import type { AcceptedEvent } from '../../domain/event';
import { oneShard } from '../../domain/queues';
import { EndpointStore } from '../../endpoints/redis-endpoint-store';
import type { TimeRange } from '../../platform/redis-timeline';
import { HeldDeliveries } from '../../queue/bullmq-held-deliveries';
import { buildAcceptedAttempt, buildAttempt } from '../../testing/build-attempt';
import { MovingScene } from '../../testing/moving-scene';
import { hasPostgres, NO_POSTGRES } from '../../testing/postgres-server';
import { createSeededRandom } from '../../testing/seeded-random';
import { openTestHistory, type TestHistory } from '../../testing/test-history';
import { testSealer } from '../../testing/test-sealer';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../../testing/unique-ids';
import { HistoryWriter } from '../database/pg-history-writer';
import { matchesFilter, shownStatuses, statusClasses, type TypedStanding } from '../delivery-standings';
import { Exports } from '../exports';
import {
  type DeliveryKey,
  type ListMark,
  markOf,
  newestFirst,
  oldestFirst,
  type SourceBatch,
} from '../history-source';
import { Recent } from '../redis-recent';
import { WholeHistory } from '../whole-history';
import { Rehydration } from './rehydration';

/*
 * Real Redis, real PostgreSQL: whatever happens to deliveries, and whenever they move and come back, each
 * list is what a plain array of them would be. They also move between the commands of one read.
 */

if (!hasPostgres) console.warn(`SKIPPED: lists while deliveries move to PostgreSQL, because ${NO_POSTGRES}.`);

const EVENTS = 30;
const ROUNDS = 3;
const LISTS_IN_A_ROUND = 8;
const SECOND = 1_000;
// Several are accepted at once.
const ACCEPTED_EVERY = 3 * SECOND;
/** The oldest are due at once, all others one after the other. */
const MOVE_AFTER_MS = EVENTS * SECOND;
const SHIFT_MS = 600;
const TYPES = ['a.b', 'c.d'];
const MADE = { version: 2, body: '{"made":1}', headers: { 'x-made': '1' } };

const GROUPED = { group: 'order ü 1' };
const scheduledAt = (deliverAt: number): Pick<AcceptedEvent, 'schedule'> => ({
  schedule: { state: 'due', publishedAt: deliverAt - SECOND, deliverAt },
});

/** A delivery, as an array has it. */
interface Row extends DeliveryKey {
  readonly type: string;
  readonly facts: DeliveryFact[];
}

(hasPostgres ? describe : describe.skip)('lists, while deliveries move and come back', () => {
  let test: TestHistory;
  let scene: MovingScene;
  beforeAll(async () => {
    test = await openTestHistory();
    scene = await MovingScene.open();
  });
  afterAll(async () => {
    await scene.close();
    await test.close();
  });

  const logOf = ({ facts }: Row) => facts.map(encodeFact).join('');
  const isOpen = (row: Row) => readSummary(logOf(row)).isOpen;

  function chooser(random: () => number) {
    const below = (bound: number) => Math.floor(random() * bound);
    const choose = <Item>(items: readonly Item[]) => items[below(items.length)] as Item;
    const sometimes = <Value>(value: () => Value) => (random() < 0.4 ? value() : undefined);
    return { below, choose, sometimes };
  }

  async function arrange(random: () => number) {
    const { below, choose, sometimes } = chooser(random);
    const accountId = uniqueAccountId();
    const pool = Array.from({ length: 5 }, uniqueEndpointId);
    const events: AcceptedEvent[] = [];
    const rows: Row[] = [];

    function attempted({ type }: Row, number: number, isLast: boolean): DeliveryFact {
      const startedAt = scene.now + number;
      const attempt = choose([
        buildAcceptedAttempt({ number, startedAt }),
        buildAttempt({ number, startedAt, responseStatus: choose([500, 503]), responseBody: 'no' }),
        buildAttempt({ number, startedAt, outcome: 'http_4xx', responseStatus: 404 }),
        { number, startedAt, durationMs: 3, outcome: 'dns_error', error: 'none' } as const,
        buildAttempt({ number, startedAt, outcome: 'token_error', tokenError: { status: 400 } }),
        buildAttempt({ number, startedAt, outcome: 'rejected_in_batch', batchId: `msg_${number}` }),
        buildAcceptedAttempt({
          number,
          startedAt,
          transformed: MADE,
          contentHeaders: { 'content-type': 'application/cloudevents+json' },
        }),
      ]);
      const hasEnded = isLast || attempt.outcome === 'delivered';
      return {
        kind: 'attempted',
        attempt,
        nextAttemptAt: hasEnded ? undefined : startedAt + 60_000,
        ...(number === 1 ? { eventType: type } : {}),
      };
    }

    for (let i = 0; i < EVENTS; i += 1) {
      const type = choose(TYPES);
      const acceptedAt = scene.now - (scene.now % ACCEPTED_EVERY);
      const endpointIds = pool.filter(() => random() < 0.5);
      const body = `{"type":"${type}","data":{"i":${i}}}`;
      const arranged = await scene.arrange(
        endpointIds.map(() => []),
        { accountId, type, acceptedAt, body, ...choose([{}, GROUPED, scheduledAt(acceptedAt)]) },
        endpointIds,
      );
      events.push(arranged.event);
      for (const endpointId of endpointIds) {
        const row: Row = { eventId: arranged.event.id, createdAt: acceptedAt, endpointId, type, facts: [] };
        rows.push(row);
        if (random() < 0.3) await append(row, { kind: 'transformed', transformed: MADE });
        if (random() < 0.2) {
          const by = uniqueEventId();
          await append(
            row,
            choose([
              { kind: 'superseded', by },
              { kind: 'cancelled', reason: 'deleted' },
            ]),
          );
          continue;
        }
        for (let number = 1, last = below(4); number <= last; number += 1) {
          await append(row, attempted(row, number, number === last && random() < 0.7));
          if (!isOpen(row)) break;
        }
      }
      scene.now += SECOND;
    }

    /** As the worker records it. */
    async function append(row: Row, fact: DeliveryFact): Promise<void> {
      row.facts.push(fact);
      await scene.deliveryStore.append(row, fact);
      if (!isOpen(row)) await scene.endedList.add({ accountId, ...row }, scene.now);
    }

    const moving = {
      historyWriter: new HistoryWriter(test.database, () => scene.now),
      moveAfterMs: MOVE_AFTER_MS,
    };
    const rehydration = new Rehydration({ ...scene.parts, pgHistory: test.history });
    /** What had ended before: so much longer ago with each call. */
    const moveSome = async () => void (await scene.moveAfter(below(SHIFT_MS), moving));
    const rehydrateSome = async () => {
      const some = rows.filter(() => random() < 0.1).map(markOf) as DeliveryKey[];
      await rehydration.bringBack(accountId, some);
      await rehydration.end(accountId, some);
    };
    const shift = async () => {
      if (random() < 0.4) await rehydrateSome();
      else await moveSome();
    };

    /** Some are sent again, some that are open are tried. */
    async function goOn(): Promise<void> {
      for (const row of rows) {
        if (random() > 0.2) continue;
        if (isOpen(row)) {
          await append(row, attempted(row, readSummary(logOf(row)).attemptCount + 1, random() < 0.7));
          continue;
        }
        await rehydration.bringBack(accountId, [row]);
        const requestId = `r${below(1e9)}`;
        await append(row, { kind: 'requested', requestId, trigger: 'manual', requestedAt: scene.now });
        await rehydration.end(accountId, [row]);
      }
    }

    /** Each call shifts something before it, with this chance. */
    function shifting<Target extends object>(target: Target, chance: number): Target {
      return new Proxy(target, {
        get: (_target, name) => {
          const method: unknown = Reflect.get(target, name);
          if (typeof method !== 'function') return method;
          return async (...args: unknown[]) => {
            if (random() < chance) await shift();
            return await (Reflect.apply(method, target, args) as Promise<unknown>);
          };
        },
      });
    }

    const { client } = scene.redis;
    const stores = {
      endpointStore: new EndpointStore(client, testSealer),
      eventStore: shifting(scene.eventStore, 0.05),
      deliveryStore: shifting(scene.deliveryStore, 0.05),
      heldDeliveries: new HeldDeliveries(client, oneShard('bull')),
    };
    const recent = new Recent(stores, scene.movedStore);
    const moved = { source: shifting(test.history, 0.5), movedStore: scene.movedStore };
    const history = new WholeHistory(recent, moved);
    const range = (): TimeRange => {
      const at = () => choose(events).acceptedAt + choose([0, 1]);
      const [since, until] = [sometimes(at), sometimes(at)];
      return since !== undefined && until !== undefined && since > until ? {} : { since, until };
    };
    return { accountId, pool, events, rows, history, stores, goOn, range, random, ...chooser(random) };
  }

  type Arranged = Awaited<ReturnType<typeof arrange>>;

  function standingOf(whole: Row): TypedStanding {
    const { facts: _facts, ...row } = whole;
    const { isOpen: _isOpen, eventType: _type, ...summary } = readSummary(logOf(whole));
    return { ...row, ...summary };
  }

  const isWithin =
    ({ since = -Infinity, until = Infinity }: TimeRange) =>
    ({ createdAt }: ListMark) =>
      since <= createdAt && createdAt < until;

  async function readAll<Found>(
    { below }: Arranged,
    read: (
      limit: number,
      after: ListMark | undefined,
    ) => Promise<{ readonly found: readonly Found[]; readonly nextCursor: ListMark | undefined }>,
  ): Promise<readonly Found[]> {
    const all: Found[] = [];
    for (let after: ListMark | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
      const page = await read(1 + below(20), after);
      all.push(...page.found);
      after = page.nextCursor;
    }
    return all;
  }

  const foundIn = <Found>({ entries, nextCursor }: SourceBatch<Found>) => ({
    found: entries.flatMap(({ row }) => row ?? []),
    nextCursor,
  });

  async function checkDeliveries(arranged: Arranged): Promise<void> {
    const { accountId, rows, pool, events, history, range, choose, sometimes } = arranged;
    const within = range();
    const query = {
      accountId,
      ...within,
      endpointId: sometimes(() => choose(pool)),
      eventId: sometimes(() => choose(events).id),
      eventType: sometimes(() => choose(TYPES)),
      status: sometimes(() => choose(shownStatuses)),
      statusClass: sometimes(() => choose(statusClasses)),
      responseStatus: sometimes(() => choose([500, 404])),
      outcome: sometimes(() => choose(['delivered', 'dns_error', 'http_5xx'] as const)),
      attempts: sometimes(() => ({
        since: sometimes(() => choose(events).acceptedAt + SECOND),
        until: sometimes(() => choose(events).acceptedAt + 2 * SECOND),
        outcomes: sometimes(() => [choose(['delivered', 'dns_error', 'http_5xx', 'http_4xx'] as const)]),
      })),
    };
    const found = await readAll(arranged, (limit, after) => history.listDeliveries(query, limit, after));
    const expected = rows
      .filter(isWithin(within))
      .filter(({ endpointId }) => query.endpointId === undefined || query.endpointId === endpointId)
      .filter(({ eventId }) => query.eventId === undefined || query.eventId === eventId)
      .filter(({ type }) => query.eventType === undefined || query.eventType === type)
      .map((row) => ({
        ...standingOf(row),
        matchingAttempts: query.attempts && countAttempts(logOf(row), query.attempts),
      }))
      .filter((row) => matchesFilter(row, query))
      .toSorted(newestFirst);
    expect([query, found]).toEqual([query, expected]);
  }

  async function checkEvents(arranged: Arranged): Promise<void> {
    const { accountId, rows, events, history, range, choose, sometimes } = arranged;
    const within = range();
    const type = sometimes(() => choose(TYPES));
    const found = await readAll(arranged, (limit, after) =>
      history.listEvents({ accountId, type, ...within }, limit, after),
    );
    const expected = events
      .filter((event) => type === undefined || type === event.type)
      .map(({ id, acceptedAt: createdAt, ...event }) => ({
        eventId: id,
        id,
        createdAt,
        type: event.type,
        ...(event.schedule && { schedule: event.schedule }),
        deliveryCount: rows.filter(({ eventId }) => eventId === id).length,
      }))
      .filter(isWithin(within))
      .toSorted(newestFirst)
      .map(({ eventId: _same, ...event }) => event);
    expect(found).toEqual(expected);
  }

  async function checkWalks(arranged: Arranged): Promise<void> {
    const { accountId, rows, events, pool, history, range, choose, sometimes } = arranged;
    const within = range();
    const endpointId = sometimes(() => choose(pool));
    const walked = await readAll(arranged, async (limit, after) =>
      foundIn(await history.walkDeliveries({ accountId, endpointId, ...within }, { limit, after })),
    );
    const expected = rows
      .filter(isWithin(within))
      .filter((row) => endpointId === undefined || row.endpointId === endpointId)
      .toSorted(oldestFirst);
    expect(walked).toEqual(expected.map((row) => ({ ...markOf(row), type: row.type })));
    const states = await history.readStates(accountId, walked);
    expect(states).toEqual(expected.map((row) => readLog(logOf(row))));

    const marks = await readAll(arranged, async (limit, after) =>
      foundIn(await history.walkEvents({ accountId, ...within }, { limit, after })),
    );
    const all = events.map(({ id: eventId, acceptedAt: createdAt }) => ({ eventId, createdAt }));
    expect(marks).toEqual(all.filter(isWithin(within)).toSorted(oldestFirst));
    const heads = await history.readHeads(accountId, marks);
    expect(heads.map((head) => head?.acceptedAt)).toEqual(marks.map(({ createdAt }) => createdAt));
  }

  async function checkExport({ accountId, rows, range, history, stores }: Arranged): Promise<void> {
    const within = range();
    const exported: unknown[] = [];
    const exports = new Exports({ ...stores, history });
    for await (const attempts of exports.attempts(accountId, { range: within })) {
      exported.push(...attempts.map(({ eventId, endpointId, attempt }) => [eventId, endpointId, attempt]));
    }
    const expected = rows
      .filter(isWithin(within))
      .toSorted(oldestFirst)
      .flatMap((row) =>
        readLog(logOf(row)).attempts.map((attempt) => [row.eventId, row.endpointId, attempt]),
      );
    expect(exported).toEqual(expected);
  }

  async function checkEach({ accountId, rows, events, history, random }: Arranged): Promise<void> {
    for (const event of events.filter(() => random() < 0.2)) {
      const { id } = event;
      const found = await history.readEvent(accountId, id);
      expect(found.event).toEqual(event);
      const statuses = rows.filter(({ eventId }) => eventId === id).map((row) => standingOf(row).status);
      const counts = Object.fromEntries(
        shownStatuses.map((status) => [status, statuses.filter((one) => one === status).length]),
      );
      expect(found.counts).toEqual({ total: statuses.length, ...counts });
    }
    for (const row of rows.filter(({ facts }) => facts.length > 0 && random() < 0.2)) {
      const { eventId, createdAt } = row;
      expect(await history.findDelivery(accountId, row)).toEqual({
        eventId,
        createdAt,
        ...readLog(logOf(row)),
      });
    }
  }

  it.each([1, 2, 3, 4])('are what an array would be, each once and in order (%s)', async (seed) => {
    const arranged = await arrange(createSeededRandom(seed));
    const batchesBefore = scene.signals.named('history.moved').length;
    for (let round = 0; round < ROUNDS; round += 1) {
      for (let i = 0; i < LISTS_IN_A_ROUND; i += 1) await checkDeliveries(arranged);
      await checkEvents(arranged);
      await checkWalks(arranged);
      await checkExport(arranged);
      await checkEach(arranged);
      await arranged.goOn();
    }
    // They moved, and came back, all the time.
    expect(scene.signals.named('history.moved').length - batchesBefore).toBeGreaterThan(5);
  });
});
