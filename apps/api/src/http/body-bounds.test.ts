import { boundsOf } from './body-bounds';
import { JsonWalk } from './json-walk';
import type { Route } from './route';

const KIB = 1_024;

it.each([1 * KIB, 260 * KIB, 10_244 * KIB])(
  'takes an event of nothing but numbers of one digit in a body of %d bytes',
  (maxBytes) => {
    const body = Buffer.from(`[${'1,'.repeat(maxBytes / 2 - 2)}1]`);
    const bounds = boundsOf({ request: { hasEventData: true } }, maxBytes);
    expect(bounds.maxBytes).toBe(maxBytes);
    const walk = new JsonWalk(body, { maxDepth: 1, ...bounds });
    walk.goOn();
    expect(walk.passedBound).toBeUndefined();
  },
);

it('takes fewer values where there are no events, and as many bytes as the route says', () => {
  expect(boundsOf({ maxBodyBytes: 5, request: {} }, 100)).toMatchObject({ maxBytes: 5, maxValues: 10_000 });
  expect(boundsOf({ request: {} }, 100)).toMatchObject({ maxBytes: 100, maxValues: 10_000 });
  const mayBeEmpty = [undefined, true as const].map(
    (mayLackBody) => boundsOf({ request: { mayLackBody } as Route['request'] }, 100).mayBeEmpty,
  );
  expect(mayBeEmpty).toEqual([false, true]);
});
