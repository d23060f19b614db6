import * as fc from 'fast-check';
import { z } from 'zod';
import { pageQuery, presentHistoryPage, presentPage } from './page';

const cursorSchema = z.strictObject({ createdAt: z.number(), eventId: z.string() });
const query = pageQuery(cursorSchema);

it('gives back every cursor as it was, through the text that clients hand on', () => {
  fc.assert(
    fc.property(fc.record({ createdAt: fc.integer(), eventId: fc.string({ unit: 'binary' }) }), (cursor) => {
      const { next_cursor } = presentPage([], cursor);
      expect(query.parse({ cursor: next_cursor }).cursor).toEqual(cursor);
    }),
  );
});

it("takes no other text for a cursor, and never throws anything but zod's errors", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.base64String(), fc.json()), (text) => {
      const parsed = query.safeParse({ cursor: text });
      expect(parsed.success ? cursorSchema.safeParse(parsed.data.cursor).success : true).toBe(true);
    }),
  );
});

it('says that there is more exactly when there is a cursor', () => {
  expect(presentPage([1], undefined)).toEqual({ data: [1], next_cursor: null, has_more: false });
  expect(presentPage([1], { any: 'thing' })).toMatchObject({
    has_more: true,
    next_cursor: expect.any(String),
  });
});

it.each(['', '0x10', '1e1', ' 5', '1.5', '0', '-1', '201', 'many'])('takes no %j for a limit', (limit) => {
  expect(query.safeParse({ limit }).error?.issues).toMatchObject([{ path: ['limit'] }]);
});

it('takes a whole number for a limit', () => {
  expect(query.parse({ limit: '200' }).limit).toBe(200);
});

it('says that a list ends because its older part is not reachable, and only then', () => {
  const nextCursor = { any: 'thing' };
  expect(presentHistoryPage([1], { nextCursor, isCutShort: true })).toEqual({
    ...presentPage([1], nextCursor),
    oldest_searched_at: null,
    history: 'unavailable',
  });
  expect(presentHistoryPage([1], { nextCursor })).toMatchObject({ history: null });
});

it('says how far back it was searched', () => {
  expect(presentHistoryPage([], { nextCursor: 1, searchedBackTo: 0 })).toMatchObject({
    oldest_searched_at: '1970-01-01T00:00:00.000Z',
  });
});
