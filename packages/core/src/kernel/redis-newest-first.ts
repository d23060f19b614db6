import { z } from 'zod';
import { encodeTime, TIME_CHARACTERS } from './ids';
import type { RedisClient } from './redis-connect';

/** Where a page ended: a member of the sorted set. */
export const newestFirstCursorSchema = z.string().regex(/^[0-9a-z]{10}[A-Za-z0-9_-]{1,64}$/);

export interface MemberPage {
  /** Newest first. */
  readonly members: readonly string[];
  readonly nextCursor: string | undefined;
}

/** What stands for an id in a sorted set whose scores are all 0: such members sort by time, then by id. */
export function timedMember(createdAt: number, id: string): string {
  return encodeTime(createdAt) + id;
}

export function idOfMember(member: string): string {
  return member.slice(TIME_CHARACTERS);
}

/** A page of a sorted set of timed members, or of our own ids. `before` is the `nextCursor` of the page before. */
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
