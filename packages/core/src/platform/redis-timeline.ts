import { z } from 'zod';
import { TIME_CHARACTERS } from './id-time';
import { encodeTime } from './ids';
import type { RedisClient } from './redis-connect';

/** A member of a sorted set whose scores are times. */
export interface Mark {
  readonly id: string;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
}

/** From `since` on, and before `until`. Milliseconds since the Unix epoch. */
export interface TimeRange {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

export type TimeOrder = 'oldest_first' | 'newest_first';

export interface ReadTimelineInput {
  readonly order: TimeOrder;
  readonly range?: TimeRange | undefined;
  readonly limit: number;
  /** The last member of the part before. It may be gone by now. */
  readonly after?: Mark | undefined;
}

// Members of the mark's own millisecond come once more, and are skipped. Usually they are few; where they are
// not, the next read is larger.
const PASSED_OVER = 8;
const GROWTH = 4;

/**
 * The next members of a sorted set of times, those of one millisecond by their id. One command reads a part,
 * so members that come or go meanwhile shift nothing: a member that stays is shown once.
 */
export async function readTimeline(
  redis: RedisClient,
  key: string,
  { order, range = {}, limit, after }: ReadTimelineInput,
): Promise<readonly Mark[]> {
  const [min, max] = boundsOf(order, range, after);
  for (let count = after ? limit + PASSED_OVER : limit; ; count *= GROWTH) {
    const window = ['WITHSCORES', 'LIMIT', 0, count] as const;
    const flat =
      order === 'oldest_first'
        ? await redis.zrangebyscore(key, min, max, ...window)
        : await redis.zrevrangebyscore(key, max, min, ...window);
    const found = toMarks(flat);
    const next = after === undefined ? found : found.filter((mark) => comesAfter(mark, after, order));
    if (next.length >= limit || found.length < count) return next.slice(0, limit);
  }
}

/**
 * All members of a timeline, page by page. None is empty.
 *
 * @param read gives the next members, at most so many.
 */
export async function* timelinePages(
  limit: number,
  read: (limit: number, after: Mark | undefined) => Promise<readonly Mark[]>,
): AsyncGenerator<readonly Mark[], void> {
  for (let after: Mark | undefined; ; ) {
    const page = await read(limit, after);
    if (page.length > 0) yield page;
    if (page.length < limit) return;
    after = page.at(-1);
  }
}

/** Which of these members are in any of some sorted sets. */
export async function findInAny(
  redis: RedisClient,
  sortedSets: readonly string[],
  members: readonly string[],
): Promise<readonly boolean[]> {
  if (members.length === 0) return [];
  const scores = await Promise.all(sortedSets.map((key) => redis.zmscore(key, ...members)));
  return members.map((_, i) => scores.some((ofSet) => ofSet[i] !== null));
}

// As Redis writes them: a bound that begins with a parenthesis is exclusive.
function boundsOf(order: TimeOrder, range: TimeRange, after?: Mark): readonly [string, string] {
  const { since = -Infinity, until = Infinity } = range;
  const min = order === 'oldest_first' ? Math.max(since, after?.at ?? since) : since;
  const isCut = order === 'newest_first' && after !== undefined && after.at < until;
  return [boundOf(min), isCut ? boundOf(after.at) : `(${boundOf(until)}`];
}

function boundOf(time: number): string {
  return Number.isFinite(time) ? String(time) : `${time < 0 ? '-' : '+'}inf`;
}

function toMarks(flat: readonly string[]): Mark[] {
  const marks: Mark[] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) marks.push({ id: flat[i] ?? '', at: Number(flat[i + 1]) });
  return marks;
}

function comesAfter(mark: Mark, other: Mark, order: TimeOrder): boolean {
  const isLater = mark.at > other.at || (mark.at === other.at && mark.id > other.id);
  const isSame = mark.at === other.at && mark.id === other.id;
  return order === 'oldest_first' ? isLater : !isLater && !isSame;
}

/** The cursor at the end of a page: a member of the sorted set. */
export const newestFirstCursorSchema = z.string().regex(/^[0-9a-z]{10}[A-Za-z0-9_-]{1,64}$/);

export interface MemberPage {
  /** Newest first. */
  readonly members: readonly string[];
  readonly nextCursor: string | undefined;
}

/** The member for an id in a sorted set whose scores are all 0: such members sort by time, then by id. */
export function timedMember(createdAt: number, id: string): string {
  return encodeTime(createdAt) + id;
}

export function idOfMember(member: string): string {
  return member.slice(TIME_CHARACTERS);
}

/**
 * A page of a sorted set of timed members, or of the product's ids. `before` is the `nextCursor` of the page
 * before.
 */
export async function readNewestFirst(
  redis: RedisClient,
  key: string,
  limit: number,
  before?: string,
): Promise<MemberPage> {
  const from = before === undefined ? '+' : `(${before}`;
  const found = await redis.zrevrangebylex(key, from, '-', 'LIMIT', 0, limit + 1);
  const members = found.slice(0, limit);
  return { members, nextCursor: found.length > limit ? members.at(-1) : undefined };
}

/** All members, page by page, newest first. None is empty. */
export async function* pagesNewestFirst(
  redis: RedisClient,
  key: string,
  limit: number,
): AsyncGenerator<readonly string[], void> {
  let before: string | undefined;
  do {
    const { members, nextCursor } = await readNewestFirst(redis, key, limit, before);
    if (members.length > 0) yield members;
    before = nextCursor;
  } while (before !== undefined);
}
