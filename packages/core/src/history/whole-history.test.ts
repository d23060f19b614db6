import * as fc from 'fast-check';
import type { HeavyTurns } from '../accounts/heavy-turns';
import type { AccountId } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { EventMark } from '../events/redis-event-index';
import type { MovedStore } from '../events/redis-moved';
import { AppError } from '../platform/app-error';
import type { TimeRange } from '../platform/redis-timeline';
import { fake } from '../testing/fake';
import { createSeededRandom } from '../testing/seeded-random';
import { matchesFilter, type TypedStanding } from './delivery-standings';
import {
  type CompareMarks,
  type DeliveryQuery,
  type EventQuery,
  type HistorySource,
  type ListedEvent,
  type ListMark,
  type ListSpan,
  newestFirst,
  oldestFirst,
  type SourceBatch,
  type SourceEntry,
  type WalkQuery,
} from './history-source';
import { type HistoryPage, MOST_SEARCH_MS, WholeHistory } from './whole-history';

const accountId = 'acc_1' as AccountId;
const TYPES = ['a.b', 'c.d'];
const STATUSES = ['delivered', 'exhausted', 'pending'] as const;

type Row = TypedStanding;

const eventIdOf = (i: number) => `evt_${i}` as EventId;
const endpointIdOf = (i: number) => `whk_${i}` as EndpointId;
const keyOf = ({ eventId, endpointId }: Row) => `${eventId}.${endpointId}`;
const markOf = ({ createdAt, eventId, endpointId }: Row) => ({ createdAt, eventId, endpointId });

/** Some of the deliveries of an account, in memory. */
class ArraySource implements HistorySource {
  readonly rows = new Map<string, Row>();

  /**
   * @param knowsAll whether it gives what does not match as well, without a row.
   * @param beforeRead runs before each part is read, and `whileRead` before its last entry is.
   */
  constructor(
    private readonly options: {
      readonly knowsAll: boolean;
      readonly beforeRead: () => void;
      readonly whileRead?: () => void;
      readonly random: () => number;
    },
  ) {}

  async listDeliveries(query: DeliveryQuery, span: ListSpan): Promise<SourceBatch<Row>> {
    const isThere = (row: Row) =>
      isWithin(query, row) &&
      (query.endpointId === undefined || query.endpointId === row.endpointId) &&
      (query.eventId === undefined || query.eventId === row.eventId);
    const matches = (row: Row) =>
      matchesFilter(row, query) && (query.eventType === undefined || query.eventType === row.type);
    return this.#read(
      newestFirst,
      span,
      () => this.#all().filter(isThere).map(markOf),
      (mark) => {
        const row = this.rows.get(keyOf(mark as Row));
        return row && (matches(row) ? row : 'other');
      },
    );
  }

  async listEvents({ type, ...query }: EventQuery, span: ListSpan): Promise<SourceBatch<ListedEvent>> {
    return this.#read(
      newestFirst,
      span,
      () => this.#events(query),
      ({ eventId, createdAt }) => {
        const row = this.#all().find((one) => one.eventId === eventId);
        if (!row) return undefined;
        const event = { id: eventId, createdAt, type: row.type, deliveryCount: 1 };
        return type === undefined || type === row.type ? event : 'other';
      },
    );
  }

  async walkDeliveries(query: WalkQuery, span: ListSpan) {
    const isThere = (row: Row) =>
      isWithin(query, row) && (query.endpointId === undefined || query.endpointId === row.endpointId);
    return this.#read(
      oldestFirst,
      span,
      () => this.#all().filter(isThere).map(markOf),
      (mark) => {
        const row = this.rows.get(keyOf(mark as Row));
        return row && { ...markOf(row), type: row.type };
      },
    );
  }

  async walkEvents(query: WalkQuery, span: ListSpan): Promise<SourceBatch<EventMark>> {
    return this.#read(
      oldestFirst,
      span,
      () => this.#events(query),
      ({ eventId, createdAt }) => ({
        eventId,
        createdAt,
      }),
    );
  }

  async findEvent(): Promise<undefined> {}
  async findDelivery(): Promise<undefined> {}
  async readHeads(): Promise<[]> {
    return [];
  }
  async readStates(): Promise<[]> {
    return [];
  }
  async countDeliveries(): Promise<never> {
    throw new Error('Nobody counts.');
  }
  async countEach(): Promise<never> {
    throw new Error('Nobody counts.');
  }

  #all(): Row[] {
    return [...this.rows.values()];
  }

  #events(query: TimeRange): EventMark[] {
    const some = this.#all().filter((row) => isWithin(query, row));
    return [...new Map(some.map(({ eventId, createdAt }) => [eventId, { eventId, createdAt }])).values()];
  }

  /** The list is read first, each entry after that: some may have left by then. */
  #read<Found>(
    compare: CompareMarks,
    { limit, after, last }: ListSpan,
    list: () => readonly ListMark[],
    read: (mark: ListMark) => Found | 'other' | undefined,
  ): SourceBatch<Found> {
    const { knowsAll, beforeRead, whileRead, random } = this.options;
    beforeRead();
    const marks = list()
      .filter((mark) => after === undefined || compare(after, mark) < 0)
      .filter((mark) => last === undefined || compare(mark, last) <= 0)
      .filter((mark) => knowsAll || read(mark) !== 'other')
      .toSorted(compare);
    const size = Math.max(1, Math.ceil(random() * limit));
    const part = marks.slice(0, size);
    whileRead?.();
    const entries = part.map((mark): SourceEntry<Found> => {
      const row = read(mark);
      if (row === undefined) return { mark, row, isGone: true };
      return { mark, row: row === 'other' ? undefined : row };
    });
    return { entries, nextCursor: marks.length > size ? part.at(-1) : undefined };
  }
}

function isWithin({ since = -Infinity, until = Infinity }: TimeRange, { createdAt }: Row): boolean {
  return since <= createdAt && createdAt < until;
}

interface Scene {
  readonly rows: readonly Row[];
  readonly seed: number;
}

/**
 * Deliveries that move while they are read: to the history, as what has ended does, and back, as what is sent
 * again does. In the history each may stand as it was before it came back.
 */
function play({ rows, seed }: Scene) {
  const random = createSeededRandom(seed);
  let movedUntil: number | undefined;
  let isAway = false;
  const moveSome = () => {
    if (isAway) return;
    for (const row of rows) {
      const key = keyOf(row);
      const chance = random();
      if (row.status !== 'pending' && chance < 0.1 && recent.rows.has(key)) {
        moved.rows.set(key, row);
        movedUntil = Math.max(movedUntil ?? 0, row.createdAt);
        recent.rows.delete(key);
      }
      if (chance > 0.97 && moved.rows.has(key)) recent.rows.set(key, row);
    }
  };
  const recent = new ArraySource({ knowsAll: true, beforeRead: moveSome, whileRead: moveSome, random });
  const moved = new ArraySource({
    knowsAll: false,
    beforeRead: () => {
      if (isAway) throw new AppError('history_unavailable', 'It is away.');
      moveSome();
    },
    random,
  });
  for (const row of rows) {
    recent.rows.set(keyOf(row), row);
    if (row.status === 'pending' && random() < 0.3) {
      moved.rows.set(keyOf(row), { ...row, status: 'exhausted' });
      movedUntil = Math.max(movedUntil ?? 0, row.createdAt);
    }
  }
  for (let i = 0; i < random() * 20; i += 1) moveSome();
  const movedStore = fake<MovedStore>({ movedUntil: async () => movedUntil });
  const history = new WholeHistory(recent, { source: moved, movedStore });
  return {
    history,
    /** From now on the history can't be reached. Gives until when records have moved. */
    goAway() {
      isAway = true;
      return movedUntil;
    },
  };
}

const scenes: fc.Arbitrary<Scene> = fc.record({
  seed: fc.nat(),
  rows: fc
    .uniqueArray(
      fc.record({ event: fc.nat(11), endpoint: fc.nat(4), status: fc.constantFrom(...STATUSES) }),
      {
        selector: ({ event, endpoint }) => `${event} ${endpoint}`,
        maxLength: 50,
      },
    )
    .map((all) =>
      all.map(({ event, endpoint, status }) => ({
        eventId: eventIdOf(event),
        endpointId: endpointIdOf(endpoint),
        // Some events have a time in common.
        createdAt: 1_000 + Math.floor(event / 2),
        type: TYPES[event % 2] ?? 'a.b',
        status,
        attemptCount: 1,
        lastOutcome: undefined,
        lastResponseStatus: undefined,
        nextAttemptAt: undefined,
      })),
    ),
});

const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const range = {
  since: optional(fc.integer({ min: 999, max: 1_006 })),
  until: optional(fc.integer({ min: 1_001, max: 1_007 })),
};
const queries = fc.record({
  ...range,
  endpointId: optional(fc.nat(4).map(endpointIdOf)),
  eventId: optional(fc.nat(11).map(eventIdOf)),
  eventType: optional(fc.constantFrom(...TYPES)),
  status: optional(fc.constantFrom(...STATUSES)),
});

const limits = fc.integer({ min: 1, max: 12 });

function expectedOf(rows: readonly Row[], query: Partial<DeliveryQuery>): readonly Row[] {
  return rows
    .filter((row) => isWithin(query, row) && matchesFilter(row, query))
    .filter((row) => query.endpointId === undefined || query.endpointId === row.endpointId)
    .filter((row) => query.eventId === undefined || query.eventId === row.eventId)
    .filter((row) => query.eventType === undefined || query.eventType === row.type);
}

function eventsOf(rows: readonly Row[]): readonly EventMark[] {
  return [...new Map(rows.map(({ eventId, createdAt }) => [eventId, { eventId, createdAt }])).values()];
}

/** The pages of a list, one after the other. */
async function readAll<Found>(
  read: (
    after: ListMark | undefined,
  ) => Promise<{ readonly found: readonly Found[]; readonly nextCursor: ListMark | undefined }>,
): Promise<readonly Found[]> {
  const all: Found[] = [];
  for (let after: ListMark | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
    const page = await read(after);
    all.push(...page.found);
    after = page.nextCursor;
  }
  return all;
}

describe('what is in two places, and moves while it is read', () => {
  it('is listed as an array of it would be, each delivery once, by any filter', async () => {
    await fc.assert(
      fc.asyncProperty(scenes, queries, limits, async (scene, query, limit) => {
        const { history } = play(scene);
        const found = await readAll((after) => history.listDeliveries({ accountId, ...query }, limit, after));
        expect(found).toEqual(expectedOf(scene.rows, query).toSorted(newestFirst));
      }),
      { numRuns: 1_000 },
    );
  });

  it('is listed by event', async () => {
    const filter = fc.record({ ...range, type: optional(fc.constantFrom(...TYPES)) });
    await fc.assert(
      fc.asyncProperty(scenes, filter, limits, async (scene, { type, ...within }, limit) => {
        const { history } = play(scene);
        const found = await readAll((after) =>
          history.listEvents({ accountId, type, ...within }, limit, after),
        );
        const expected = eventsOf(expectedOf(scene.rows, { eventType: type, ...within })).toSorted(
          newestFirst,
        );
        expect(found.map(({ id }) => id)).toEqual(expected.map(({ eventId }) => eventId));
      }),
      { numRuns: 500 },
    );
  });

  it('is gone through oldest first, each once', async () => {
    const query = fc.record({ ...range, endpointId: optional(fc.nat(4).map(endpointIdOf)) });
    await fc.assert(
      fc.asyncProperty(scenes, query, limits, async (scene, asked, limit) => {
        const { history } = play(scene);
        const walked = await readAll(async (after) => {
          const { entries, nextCursor } = await history.walkDeliveries(
            { accountId, ...asked },
            { limit, after },
          );
          return { found: entries.flatMap(({ row }) => row ?? []), nextCursor };
        });
        const expected = expectedOf(scene.rows, asked).toSorted(oldestFirst);
        expect(walked).toEqual(expected.map((row) => ({ ...markOf(row), type: row.type })));

        const { endpointId: _any, ...within } = asked;
        const events = await readAll(async (after) => {
          const { entries, nextCursor } = await history.walkEvents(
            { accountId, ...within },
            { limit, after },
          );
          return { found: entries.flatMap(({ row }) => row ?? []), nextCursor };
        });
        expect(events).toEqual(eventsOf(expectedOf(scene.rows, within)).toSorted(oldestFirst));
      }),
      { numRuns: 500 },
    );
  });
});

type End = 'whole' | 'history_unavailable';

/** The pages of a list until it ends, for whatever reason. */
async function readUntilEnd(
  read: (after: ListMark | undefined) => Promise<HistoryPage<Row>>,
): Promise<{ readonly found: readonly Row[]; readonly end: End }> {
  const found: Row[] = [];
  let after: ListMark | undefined;
  for (;;) {
    const page = await read(after).catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'history_unavailable') return error.code;
      throw error;
    });
    if (page === 'history_unavailable') return { found, end: page };
    found.push(...page.found);
    after = page.nextCursor;
    // A page that was cut short has something to show, and goes on.
    if (page.isCutShort && (page.found.length === 0 || after === undefined))
      throw new Error('It looks like the end.');
    if (after === undefined) return { found, end: 'whole' };
  }
}

describe('while the history is away', () => {
  const unavailable = expect.objectContaining({ code: 'history_unavailable' }) as unknown;

  it('lists what was accepted after all that has moved, and says that it ends there for that reason', async () => {
    await fc.assert(
      fc.asyncProperty(scenes, queries, limits, async (scene, query, limit) => {
        const { history, goAway } = play(scene);
        const movedUntil = goAway();
        const read = await readUntilEnd((after) =>
          history.listDeliveries({ accountId, ...query }, limit, after),
        );
        const isInRedis = ({ createdAt }: Row) => movedUntil === undefined || createdAt > movedUntil;
        const isAllInRedis =
          query.status === 'pending' ||
          (movedUntil !== undefined && query.since !== undefined && query.since > movedUntil);
        const sure = isAllInRedis ? scene.rows : scene.rows.filter(isInRedis);
        expect(read.found).toEqual(expectedOf(sure, query).toSorted(newestFirst));
        expect(read.end).toBe(isAllInRedis ? 'whole' : 'history_unavailable');
      }),
      { numRuns: 1_000 },
    );
  });

  const rows = [1_001, 1_002, 1_003].map((createdAt, i) => ({
    ...{
      eventId: eventIdOf(i),
      endpointId: endpointIdOf(i),
      createdAt,
      type: 'a.b',
      status: 'delivered' as const,
    },
    ...{ attemptCount: 1, lastOutcome: undefined, lastResponseStatus: undefined, nextAttemptAt: undefined },
  }));
  const [oldest, middle, newest] = rows as [Row, Row, Row];

  /** The oldest delivery has moved. */
  function arrange() {
    const list = (some: readonly Row[], mark: ListSpan['after']) =>
      some.filter((row) => mark === undefined || newestFirst(mark, row) < 0);
    const batchOf = (
      some: readonly Row[],
      { limit, after }: ListSpan,
      isShown = (_row: Row) => true,
    ): SourceBatch<Row> => {
      const left = list(some, after);
      const entries = left
        .slice(0, limit)
        .map((row) => ({ mark: markOf(row), row: isShown(row) ? row : undefined }));
      return { entries, nextCursor: left.length > limit ? entries.at(-1)?.mark : undefined };
    };
    const away = jest.fn(async () => {
      throw new AppError('history_unavailable', 'It is away.');
    });
    const recent = {
      listDeliveries: async (query: DeliveryQuery, span: ListSpan) =>
        batchOf([newest, middle], span, (row) => query.status === 'pending' || matchesFilter(row, query)),
      walkDeliveries: async (_query: WalkQuery, span: ListSpan) => batchOf([middle, newest], span),
      findEvent: async () => undefined,
      readHeads: async (_account: AccountId, marks: readonly EventMark[]) => marks.map(() => undefined),
    } as unknown as HistorySource;
    const source = { listDeliveries: away, walkDeliveries: away, findEvent: away, readHeads: away };
    const movedStore = fake<MovedStore>({ movedUntil: async () => oldest.createdAt });
    const history = new WholeHistory(recent, { source: source as unknown as HistorySource, movedStore });
    return { history, away };
  }

  it('a page goes on from where it was cut short', async () => {
    const { history } = arrange();
    const page = await history.listDeliveries({ accountId }, 10);
    expect(page).toEqual({ found: [newest, middle], nextCursor: markOf(middle), isCutShort: true });
    await expect(history.listDeliveries({ accountId }, 10, page.nextCursor)).rejects.toEqual(unavailable);
  });

  it('a page that has nothing to show for that reason is refused at once', async () => {
    const { history } = arrange();
    const query = { accountId, status: 'exhausted' } as const;
    await expect(history.listDeliveries(query, 10)).rejects.toEqual(unavailable);
    await expect(history.listDeliveries(query, 10, markOf(newest))).rejects.toEqual(unavailable);
  });

  it('nobody asks it for what Redis has', async () => {
    const { history, away } = arrange();
    expect(await history.listDeliveries({ accountId }, 1)).toEqual({
      found: [newest],
      nextCursor: markOf(newest),
    });
    expect(await history.listDeliveries({ accountId, since: 1_002 }, 10)).toEqual({
      found: [newest, middle],
      nextCursor: undefined,
    });
    expect((await history.listDeliveries({ accountId, status: 'pending' }, 10)).found).toHaveLength(2);
    expect((await history.walkDeliveries({ accountId, since: 1_002 }, { limit: 10 })).entries).toHaveLength(
      2,
    );
    expect(await history.readHeads(accountId, [middle])).toEqual([undefined]);
    expect(away).not.toHaveBeenCalled();
  });

  it('what may be there is refused', async () => {
    const { history } = arrange();
    await expect(history.walkDeliveries({ accountId }, { limit: 10 })).rejects.toEqual(unavailable);
    await expect(history.findEvent(accountId, oldest.eventId)).rejects.toEqual(unavailable);
    await expect(history.readHeads(accountId, [oldest])).rejects.toEqual(unavailable);
  });
});

describe('a page of a filtered list', () => {
  const OLDEST = 3_000;

  /** Events of a type that hardly any has, and how many entries were asked for, in and outside of turns. */
  function arrangeRare(now = () => 0) {
    const looked = { freely: 0, inTurn: 0 };
    let isTurn = false;
    const recent = fake<HistorySource>({
      async listEvents(_query, { limit, after }) {
        const from = after === undefined ? OLDEST : after.createdAt - 1;
        const times = Array.from({ length: Math.min(limit, from) }, (_, i) => from - i);
        looked[isTurn ? 'inTurn' : 'freely'] += times.length;
        const entries = times.map((createdAt) => ({
          mark: { eventId: eventIdOf(createdAt), createdAt },
          row: createdAt % 500 === 0 ? listed(createdAt) : undefined,
        }));
        return { entries, nextCursor: entries.at(-1)?.mark };
      },
    });
    const heavyTurns = fake<HeavyTurns>({
      async run(_account, work) {
        isTurn = true;
        return await work().finally(() => {
          isTurn = false;
        });
      },
    });
    return { looked, history: new WholeHistory(recent, undefined, { heavyTurns, now }) };
  }

  const listed = (createdAt: number): ListedEvent => ({
    id: eventIdOf(createdAt),
    type: 'a.b',
    createdAt,
    deliveryCount: 0,
  });

  it('is filled from a thousand entries, and takes turns with others behind the first of them', async () => {
    const { history, looked } = arrangeRare();
    const page = await history.listEvents({ accountId, type: 'a.b' }, 2);
    expect(page.found.map(({ createdAt }) => createdAt)).toEqual([3_000, 2_500]);
    expect(looked.freely).toBeLessThanOrEqual(100);
    expect(looked.inTurn).toBeGreaterThan(300);
  });

  it('ends after a bounded search, and tells how far it came', async () => {
    const { history, looked } = arrangeRare();
    const page = await history.listEvents({ accountId, type: 'a.b' }, 50);
    expect(page.found).toHaveLength(2);
    expect(page.nextCursor?.createdAt).toBe(2_001);
    expect(looked.freely + looked.inTurn).toBe(1_000);
  });

  it('ends after a bounded time, however slow its source is, but not before it has looked at a page', async () => {
    let time = 0;
    const { history, looked } = arrangeRare(() => (time += MOST_SEARCH_MS));
    const page = await history.listEvents({ accountId, type: 'a.b' }, 50);
    expect(page.nextCursor).toBeDefined();
    expect(looked.freely + looked.inTurn).toBeLessThan(400);
    expect(looked.freely).toBeGreaterThanOrEqual(60);
  });

  it('costs no turn, and looks no further than before, where there is no filter', async () => {
    const { history, looked } = arrangeRare();
    await history.listEvents({ accountId }, 50);
    expect(looked).toEqual({ freely: 60, inTurn: 0 });
  });
});
