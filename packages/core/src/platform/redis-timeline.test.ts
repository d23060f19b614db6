import * as fc from 'fast-check';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueEndpointId } from '../testing/unique-ids';
import { type Mark, readTimeline, type TimeOrder, type TimeRange } from './redis-timeline';

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

// Few times and few ids, so that members share a millisecond, and what is added has been there before.
const markArb = fc.record({
  id: fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd'), minLength: 1, maxLength: 2 }),
  at: fc.integer({ min: 0, max: 4 }),
});
const changeArb = fc.oneof(
  markArb.map((mark) => ({ kind: 'add', mark }) as const),
  markArb.map((mark) => ({ kind: 'remove', mark }) as const),
);
const changesArb = fc.array(fc.array(changeArb, { maxLength: 4 }), { maxLength: 8 });
const boundArb = fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined });
const rangeArb = fc.record({ since: boundArb, until: boundArb });
const orderArb = fc.constantFrom<TimeOrder>('oldest_first', 'newest_first');
const limitArb = fc.integer({ min: 1, max: 6 });

type Change = typeof changeArb extends fc.Arbitrary<infer Value> ? Value : never;

/** A plain array that goes through the same as a sorted set. */
class Model {
  readonly #times = new Map<string, number>();

  apply({ kind, mark }: Change): void {
    if (kind === 'remove') this.#times.delete(mark.id);
    else if (!this.#times.has(mark.id)) this.#times.set(mark.id, mark.at);
  }

  marks(order: TimeOrder, { since = 0, until = Infinity }: TimeRange): Mark[] {
    const inOrder = Array.from(this.#times, ([id, at]) => ({ id, at })).toSorted(compare);
    const inRange = inOrder.filter(({ at }) => at >= since && at < until);
    return order === 'oldest_first' ? inRange : inRange.toReversed();
  }
}

function compare(one: Mark, other: Mark): number {
  return one.at - other.at || (one.id < other.id ? -1 : Number(one.id > other.id));
}

async function apply(key: string, { kind, mark }: Change): Promise<void> {
  if (kind === 'remove') await redis.client.zrem(key, mark.id);
  else await redis.client.zadd(key, 'NX', mark.at, mark.id);
}

async function arrange(marks: readonly Mark[]) {
  const key = `timeline:{${uniqueEndpointId()}}`;
  const model = new Model();
  const additions = marks.map((mark) => ({ kind: 'add', mark }) as const);
  for (const addition of additions) model.apply(addition);
  await Promise.all(additions.map((addition) => apply(key, addition)));
  return { key, model };
}

it('gives page after page what a plain array would, whatever comes and goes in between', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(markArb, { maxLength: 40 }),
      changesArb,
      rangeArb,
      orderArb,
      limitArb,
      async (marks, changes, range, order, limit) => {
        const { key, model } = await arrange(marks);
        let after: Mark | undefined;
        for (const between of [...changes, []]) {
          const rest = model.marks(order, range).filter((mark) => isBeyond(mark, after, order));
          const page = await readTimeline(redis.client, key, { order, range, limit, after });
          expect(page).toEqual(rest.slice(0, limit));
          after = page.at(-1) ?? after;
          for (const change of between) {
            model.apply(change);
            await apply(key, change);
          }
        }
      },
    ),
  );
});

function isBeyond(mark: Mark, after: Mark | undefined, order: TimeOrder): boolean {
  if (after === undefined) return true;
  return order === 'oldest_first' ? compare(mark, after) > 0 : compare(mark, after) < 0;
}

it('shows once who is there all the time, also where much comes and goes while a page is read', async () => {
  await fc.assert(
    fc.asyncProperty(
      orderArb,
      limitArb,
      fc.array(changesArb, { minLength: 1 }),
      async (order, limit, noise) => {
        // Two dozen of one millisecond: more than a page looks at first.
        const steady = Array.from({ length: 24 }, (_, i) => ({ id: `steady-${10 + i}`, at: 2 }));
        const { key } = await arrange(steady);
        const shown: Mark[] = [];
        for (let page: readonly Mark[] = steady, round = 0; page.length > 0; round += 1) {
          const changes = (noise[round] ?? []).flat();
          [page] = await Promise.all([
            readTimeline(redis.client, key, { order, limit, after: shown.at(-1) }),
            ...changes.map((change) => apply(key, change)),
          ]);
          shown.push(...page);
        }
        const inOrder = shown.toSorted(compare);
        expect(shown).toEqual(order === 'oldest_first' ? inOrder : inOrder.toReversed());
        expect(new Set(shown.map(({ id, at }) => `${id} ${at}`)).size).toBe(shown.length);
        expect(inOrder.filter(({ id }) => id.startsWith('steady'))).toEqual(steady);
      },
    ),
  );
});
