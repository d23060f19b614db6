import type { RedisClient } from './redis-connect';

/** In milliseconds since the Unix epoch; both ends belong to it. */
export interface TimeSpan {
  readonly since: number;
  readonly until: number;
}

/** A member of a sorted set whose scores are times. */
export interface SpanMember {
  readonly id: string;
  readonly at: number;
}

/**
 * The next members of a sorted set of times, oldest first, those of one millisecond by their id. `after` is the last one
 * of the page before: what was taken out meanwhile moves nothing.
 */
export async function readOldestFirst(
  redis: RedisClient,
  key: string,
  { since, until }: TimeSpan,
  limit: number,
  after?: SpanMember,
): Promise<readonly SpanMember[]> {
  const from = Math.max(since, after?.at ?? since);
  const members: SpanMember[] = [];
  for (let offset = 0; members.length < limit; offset += limit) {
    const flat = await redis.zrangebyscore(key, from, until, 'WITHSCORES', 'LIMIT', offset, limit);
    const found = toMembers(flat);
    members.push(...found.filter((member) => after === undefined || isAfter(member, after)));
    if (found.length < limit) break;
  }
  return members.slice(0, limit);
}

function toMembers(flat: readonly string[]): SpanMember[] {
  const members: SpanMember[] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) members.push({ id: flat[i] ?? '', at: Number(flat[i + 1]) });
  return members;
}

function isAfter(member: SpanMember, mark: SpanMember): boolean {
  return member.at > mark.at || (member.at === mark.at && member.id > mark.id);
}
