import { readSummary } from '../../domain/delivery-log';
import { keys } from '../../domain/keys';
import { digestOf } from '../../events/redis-moved-ids';
import { atomicAsOne, atomicOneByOne } from '../../platform/redis-atomic';
import { buildAtomic } from '../../testing/build-atomic';
import {
  type ArrangedEvent,
  CLAIM_IS_OVER_MS,
  DELIVERED,
  DELIVERED_THEN,
  EXHAUSTED,
  FAILED,
  MOVE_AFTER_MS,
  MovingScene,
} from '../../testing/moving-scene';
import { hasPostgres, NO_POSTGRES } from '../../testing/postgres-server';
import { openTestHistory, type TestHistory } from '../../testing/test-history';
import { uniqueAccountId } from '../../testing/unique-ids';
import { withMethods } from '../../testing/with-methods';
import { PgHistory } from '../database/pg-history';
import { HistoryWriter } from '../database/pg-history-writer';
import type { DeliveryKey } from '../history-source';
import type { MoverParts } from './mover-parts';
import { Rehydration, type RehydrationParts } from './rehydration';

/*
 * A process that moves, or brings back, ends at each of its steps: before it, and after it, as when the reply
 * is lost. At that moment everything is in Redis or in the history, and readers see each delivery once, as it
 * is. Another process then finishes the work.
 */

if (!hasPostgres) console.warn(`SKIPPED: moving to PostgreSQL, because ${NO_POSTGRES}.`);

let scene: MovingScene;
beforeAll(async () => {
  scene = await MovingScene.open();
});
afterAll(() => scene.close());

const NEVER = 0;

/** Ends a process at a step: all later ones fail as well. Those that were on their way take effect. */
class Killer {
  steps = 0;
  readonly #underWay = new Set<Promise<unknown>>();
  #isDead = false;

  constructor(
    private readonly killAt: number,
    private readonly when: 'before' | 'after',
  ) {}

  /** Count the calls of all methods. */
  watch<Target extends object>(target: Target): Target {
    return new Proxy(target, {
      get: (_target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return (...args: unknown[]) =>
          this.step(() => Reflect.apply(method, target, args) as Promise<unknown>);
      },
    });
  }

  async step<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#isDead) throw new Error('dead');
    this.steps += 1;
    if (this.steps !== this.killAt) return await this.#run(work);
    this.#isDead = true;
    if (this.when === 'after') await this.#run(work);
    throw new Error('killed');
  }

  async #run<Result>(work: () => Promise<Result>): Promise<Result> {
    const running = work();
    this.#underWay.add(running);
    try {
      return await running;
    } finally {
      this.#underWay.delete(running);
    }
  }

  /** Wait for the steps that other parts of the process had begun when it ended. */
  async allLanded(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  get hasKilled(): boolean {
    return this.#isDead;
  }
}

type History = RehydrationParts['pgHistory'];
type Parts = Pick<MoverParts & RehydrationParts, 'historyWriter' | 'pgHistory'>;

/** In a Cluster each step is a command of its own; one server takes those of a turn as one. */
const servers = {
  'a Cluster': (killer: Killer, parts: Parts) => {
    const atomic = atomicOneByOne(scene.redis.client);
    return {
      ...watched(killer, parts),
      atomic: buildAtomic(async (steps) => {
        const results: unknown[] = [];
        for (const step of steps) {
          // The second one is left out when the first is a guard that stops.
          const ran = await killer.step(() => atomic([step, async () => {}]));
          results.push(ran[0]);
          if (ran.length < 2) break;
        }
        return results;
      }),
    };
  },
  'one server': (killer: Killer, parts: Parts) => {
    const atomic = atomicAsOne(scene.redis.client);
    return {
      ...watched(killer, parts),
      atomic: buildAtomic((...args) => killer.step(() => atomic(...args)), true),
    };
  },
};

function watched(killer: Killer, { historyWriter, pgHistory }: Parts) {
  return {
    ...scene.parts,
    // What runs by itself. The others are steps of `atomic`.
    endedList: withMethods(scene.endedList, {
      endClaim: (...args: Parameters<typeof scene.endedList.endClaim>) =>
        killer.step(() => scene.endedList.endClaim(...args)),
    }),
    historyWriter: killer.watch(historyWriter),
    pgHistory: killer.watch(pgHistory),
  };
}

/** What is expected of a delivery: its status, and its log once it has ended. */
interface Expected {
  readonly key: DeliveryKey;
  readonly status: string;
  readonly log: string | null;
}

interface Arranged {
  readonly accountId: ArrangedEvent['event']['accountId'];
  readonly claimed: ArrangedEvent;
  readonly pending: ArrangedEvent;
  readonly empty: ArrangedEvent;
  readonly queued: ArrangedEvent;
  readonly all: readonly ArrangedEvent[];
  readonly expected: readonly Expected[];
}

async function arrange(): Promise<Arranged> {
  await scene.redis.client.flushdb();
  const accountId = uniqueAccountId();
  const claimed = await scene.arrange([[FAILED, DELIVERED_THEN]], { accountId });
  const { id, body, acceptedAt } = claimed.event;
  const claim = { digest: digestOf(body), accepted_at: acceptedAt, queued: 1 };
  await scene.redis.client.hset(keys.eventClaim(accountId, id), claim);
  const pending = await scene.arrange([[DELIVERED], [EXHAUSTED], [FAILED]], { accountId });
  const empty = await scene.arrange([], { accountId });
  const queued = await scene.arrange([[EXHAUSTED]], { accountId, isQueued: true });
  const all = [claimed, pending, empty, queued];
  const expected = await Promise.all(
    all.flatMap(({ event, endpointIds }) =>
      endpointIds.map(async (endpointId) => {
        const key = { eventId: event.id, createdAt: event.acceptedAt, endpointId };
        const log = await scene.logInRedis(key);
        return { key, status: readSummary(log ?? '').status, log };
      }),
    ),
  );
  return { accountId, claimed, pending, empty, queued, all, expected };
}

/** What is in Redis, as an account's list of deliveries finds it. */
async function readRedis({ accountId }: Arranged): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const { marks } = await scene.eventStore.list(accountId, 100);
  for (const { eventId } of marks) {
    const opened = await scene.eventStore.open(accountId, eventId, 100);
    for (const endpointId of opened?.receivers.members ?? []) {
      found.set(`${eventId}.${endpointId}`, (await scene.logInRedis({ eventId, endpointId })) ?? '');
    }
  }
  return found;
}

async function readHistory(
  history: History,
  { accountId, expected, all }: Arranged,
): Promise<{ readonly events: ReadonlySet<string>; readonly logs: ReadonlyMap<string, string> }> {
  const events = new Set<string>();
  const logs = new Map<string, string>();
  const wanted = [
    ...expected.map(({ key }) => key),
    // An event without deliveries.
    ...all.map(({ event: { id: eventId, acceptedAt: createdAt } }) => ({
      eventId,
      createdAt,
      endpointId: 'wh_none' as DeliveryKey['endpointId'],
    })),
  ];
  for (const { id, deliveries } of await history.readForRehydration(accountId, wanted)) {
    events.add(id);
    for (const { endpointId, log } of deliveries) logs.set(`${id}.${endpointId}`, log);
  }
  return { events, logs };
}

/** Check that nothing is nowhere, and that readers see each delivery once, as it is. */
async function expectAllThere(history: History, arranged: Arranged): Promise<void> {
  const { accountId, expected, all } = arranged;
  // As readers do: Redis first, then the history; Redis wins.
  const recent = await readRedis(arranged);
  const old = await readHistory(history, arranged);
  const seen = new Map([...old.logs, ...recent]);
  expect(new Map([...seen].map(([name, log]) => [name, readSummary(log).status]))).toEqual(
    new Map(expected.map(({ key, status }) => [`${key.eventId}.${key.endpointId}`, status])),
  );
  for (const { key, log } of expected) {
    const name = `${key.eventId}.${key.endpointId}`;
    const inRedis = await scene.logInRedis(key);
    expect(inRedis ?? old.logs.get(name)).toBe(log);
    // What an event's receivers lead to has its log.
    expect(recent.has(name) && inRedis === null).toBe(false);
  }
  for (const { event, endpointIds } of all) {
    const stored = await scene.redis.client.exists(keys.event(accountId, event.id));
    expect(stored === 1 || old.events.has(event.id)).toBe(true);
    if (stored === 0) continue;
    const counts = await scene.movedStore.countsOf(accountId, event.id);
    const moved = Object.values(counts).reduce((sum, count) => sum + count, 0);
    const { members } = await scene.eventStore.listReceivers(accountId, event.id, endpointIds.length + 1);
    expect(members.length + moved).toBe(endpointIds.length);
  }
}

/** Check that all has moved but the delivery that has not ended. */
async function expectMoved(history: History, arranged: Arranged): Promise<void> {
  const { accountId, claimed, pending, queued, expected } = arranged;
  const old = await readHistory(history, arranged);
  for (const { key, log, status } of expected) {
    const isOpen = status === 'pending';
    expect(old.logs.get(`${key.eventId}.${key.endpointId}`)).toBe(isOpen ? undefined : log);
  }
  expect(old.events.size).toBe(4);
  const [, , open] = pending.endpointIds;
  const { id } = pending.event;
  expect(await scene.keysLeft()).toEqual(
    [
      keys.event(accountId, id),
      keys.receivers(accountId, id),
      keys.moved(accountId, id),
      keys.events(accountId),
      ...(open === undefined ? [] : [keys.deliveries(open), keys.delivery(open, id)]),
    ].toSorted(),
  );
  expect(await scene.movedStore.countsOf(accountId, id)).toEqual({ delivered: 1, exhausted: 1 });
  for (const { event } of [claimed, queued]) {
    expect(
      (await scene.movedIds.look(accountId, event.id, scene.now)(scene.redis.client)).moved,
    ).toBeDefined();
  }
  await expectAllThere(history, arranged);
}

async function moveAll(parts: Parts): Promise<void> {
  for (let i = 0; i < 20 && (await scene.endedList.count()) > 0; i += 1) {
    await scene.moveAfter(CLAIM_IS_OVER_MS + MOVE_AFTER_MS, parts);
  }
  expect(await scene.endedList.count()).toBe(0);
}

function suite(openParts: () => Parts) {
  const cases = Object.entries(servers).flatMap(([server, build]) =>
    (['before', 'after'] as const).map((when) => ({ server, when, build })),
  );
  const untilNext = { 'at once': async () => {}, 'when what lapses is gone': () => scene.letLapse() };
  const movedCases = cases.flatMap((each) =>
    Object.entries(untilNext).map(([next, letPass]) => ({ ...each, next, letPass })),
  );

  it.each(movedCases)('is moved, killed $when each step on $server, and gone on with $next', async (one) => {
    const { when, build, letPass } = one;
    const parts = openParts();
    let killed = 0;
    for (let at = 1; ; at += 1) {
      const arranged = await arrange();
      const killer = new Killer(at, when);
      await scene.moveAfter(MOVE_AFTER_MS, build(killer, parts)).catch((error: unknown) => {
        if (!killer.hasKilled) throw error;
      });
      await killer.allLanded();
      await expectAllThere(parts.pgHistory, arranged);
      await letPass();
      await moveAll(build(new Killer(NEVER, when), parts));
      await expectMoved(parts.pgHistory, arranged);
      if (!killer.hasKilled) break;
      killed += 1;
    }
    expect(killed).toBeGreaterThan(8);
  });

  it.each(cases)('is brought back, killed $when each step on $server', async ({ when, build }) => {
    const parts = openParts();
    let killed = 0;
    for (let at = 1; ; at += 1) {
      const arranged = await arrange();
      const { accountId, expected } = arranged;
      scene.now += MOVE_AFTER_MS;
      await moveAll(parts);
      const killer = new Killer(at, when);
      const wanted = expected.filter(({ status }) => status !== 'pending').map(({ key }) => key);
      await new Rehydration(build(killer, parts)).bringBack(accountId, wanted).catch((error: unknown) => {
        if (!killer.hasKilled) throw error;
      });
      await killer.allLanded();
      await expectAllThere(parts.pgHistory, arranged);
      // Nobody adds a job. Pins lapse.
      const pins = await scene.redis.client.keys('pinned:*');
      if (pins.length > 0) await scene.redis.client.del(pins);
      const { size } = await readRedis(arranged);
      expect(killer.hasKilled || size === expected.length).toBe(true);
      await moveAll(parts);
      await expectAllThere(parts.pgHistory, arranged);
      if (!killer.hasKilled) {
        await expectMoved(parts.pgHistory, arranged);
        break;
      }
      killed += 1;
    }
    expect(killed).toBeGreaterThan(2);
  });
}

describe('what has ended, with a history in memory', () => {
  suite(() => scene.parts);
});

(hasPostgres ? describe : describe.skip)('what has ended, with PostgreSQL', () => {
  let test: TestHistory;
  beforeAll(async () => {
    test = await openTestHistory();
  });
  afterAll(() => test.close());

  suite(() => ({
    historyWriter: new HistoryWriter(test.database, () => scene.now),
    pgHistory: new PgHistory(test.database),
  }));
});
