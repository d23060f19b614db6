import { z } from 'zod';
import { keys } from '../domain/keys';
import { DELIVERIES_QUEUE, EVENTS_QUEUE } from '../domain/queues';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript, type ScriptTarget } from '../platform/redis-script';
import { createJobKeys } from './bullmq-layout';

/** A present or former number of shards of the queues. */
export interface KnownLayout {
  readonly count: number;
  /**
   * When a process first wanted it. Milliseconds since the Unix epoch; all times here are by Redis' clock.
   */
  readonly since: number;
  /** Since when no job is on a shard that only this layout has. */
  readonly leftSince: number | undefined;
}

export interface KnownLayouts {
  readonly now: number;
  /** The layout that all processes use. */
  readonly inForce: KnownLayout;
  /** Former layouts, and those that will be in force. */
  readonly others: readonly KnownLayout[];
  /** Prefixes of the shards that workers take jobs from. */
  readonly served: ReadonlySet<string>;
}

/**
 * A wanted layout is in force after this time: by then every living process knows of it, asks before it
 * sends, and has said so itself for some seconds.
 */
export const IN_FORCE_AFTER_MS = 10_000;
// A process that stood still, for example in a virtual machine, may go on with a layout that the others have
// left.
const KEPT_MS = 3_600_000;
const SERVED_FOR_MS = 15_000;

/*
 * A process says which layout it wants when it starts, and the last one to start decides. A layout that was
 * wanted before, and is not in force yet, becomes one of the past. An unused Redis changes at once.
 *
 * KEYS: layouts, left layouts, served shards, then keys that exist once the queues were used. ARGV: the
 * wanted layout or '', after how long it is in force, how long one is kept, how long a shard counts as
 * served, then the prefixes of the shards that the caller takes jobs from. Gives the time, the layout in
 * force, and all three sets.
 */
const LOOK = defineScript(`
  local layouts, left, served = KEYS[1], KEYS[2], KEYS[3]
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local wanted, in_force_after = ARGV[1], tonumber(ARGV[2])

  local function in_force()
    local last = redis.call('ZREVRANGEBYSCORE', layouts, now - in_force_after, '-inf', 'LIMIT', 0, 1)[1]
    return last or redis.call('ZRANGE', layouts, 0, 0)[1]
  end

  if redis.call('EXISTS', layouts) == 0 then
    local is_used = redis.call('EXISTS', unpack(KEYS, 4)) > 0
    redis.call('ZADD', layouts, 0, is_used and '1' or (wanted ~= '' and wanted or '1'))
  end
  if wanted ~= '' and redis.call('ZREVRANGE', layouts, 0, 0)[1] ~= wanted then
    for _, pending in ipairs(redis.call('ZRANGEBYSCORE', layouts, '(' .. now - in_force_after, '+inf')) do
      redis.call('ZADD', layouts, redis.call('ZSCORE', layouts, in_force()) - 1, pending)
    end
    if in_force() ~= wanted then
      redis.call('ZADD', layouts, now, wanted)
      redis.call('ZREM', left, wanted)
    end
  end

  -- Where Redis is full no process learns who serves what; what is in force it has to.
  for i = 5, #ARGV do redis.pcall('ZADD', served, now, ARGV[i]) end
  redis.call('ZREMRANGEBYSCORE', served, '-inf', now - ARGV[4])
  for _, layout in ipairs(redis.call('ZRANGEBYSCORE', left, '-inf', now - ARGV[3])) do
    redis.call('ZREM', left, layout)
    if layout ~= in_force() then redis.call('ZREM', layouts, layout) end
  end
  return {now, in_force(), redis.call('ZRANGE', layouts, 0, -1, 'WITHSCORES'),
    redis.call('ZRANGE', left, 0, -1, 'WITHSCORES'), redis.call('ZRANGE', served, 0, -1)}`);

// Only layouts that no process has used for long enough. KEYS: layouts, left layouts. ARGV: how long, the
// caller's layout in force, then the left ones.
const LEAVE = defineScript(`
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  if last[1] ~= ARGV[2] or tonumber(last[2]) > now - ARGV[1] then return 0 end
  for i = 3, #ARGV do
    if redis.call('ZSCORE', KEYS[1], ARGV[i]) then redis.call('ZADD', KEYS[2], 'NX', now, ARGV[i]) end
  end
  return 1`);

const LIST = defineScript(`return redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')`);

const textsSchema = z.array(z.string());
const timesSchema = z.array(z.coerce.number());
const lookSchema = z.tuple([z.number(), z.coerce.number(), timesSchema, timesSchema, z.array(z.string())]);

/** The layouts that the service's processes use. */
export class LayoutStore {
  readonly #usedKeys: readonly string[];

  constructor(
    private readonly redis: RedisClient,
    firstPrefix: string,
  ) {
    this.#usedKeys = [DELIVERIES_QUEUE, EVENTS_QUEUE].flatMap((queue) => {
      const { meta, priorityCounter } = createJobKeys(firstPrefix, queue);
      return [meta, priorityCounter];
    });
  }

  /**
   * @param wanted the number of shards that this process is configured with, when it starts.
   * @param served prefixes of the shards that it takes jobs from.
   */
  async look(wanted: number | undefined, served: readonly string[]): Promise<KnownLayouts> {
    const reply = await LOOK(
      this.redis,
      [keys.queueLayouts, keys.leftLayouts, keys.servedShards, ...this.#usedKeys],
      [wanted ?? '', IN_FORCE_AFTER_MS, KEPT_MS, SERVED_FOR_MS, ...served],
    );
    const [now, inForce, layouts, left, servedNow] = lookSchema.parse(reply);
    const leftSince = new Map(pairsOf(left));
    const known = pairsOf(layouts).map(([count, since]): KnownLayout => {
      return { count, since, leftSince: leftSince.get(count) };
    });
    return {
      now,
      inForce: known.find(({ count }) => count === inForce) ?? {
        count: inForce,
        since: 0,
        leftSince: undefined,
      },
      others: known.filter(({ count }) => count !== inForce),
      served: new Set(servedNow),
    };
  }

  /** Whether this layout still exists, and no other, by one command. */
  async isOnly(
    { count, since }: Pick<KnownLayout, 'count' | 'since'>,
    target: ScriptTarget = this.redis,
  ): Promise<boolean> {
    const layouts = textsSchema.parse(await LIST(target, [keys.queueLayouts], []));
    return layouts.length === 2 && layouts[0] === String(count) && Number(layouts[1]) === since;
  }

  /**
   * Report that no jobs are on shards that only these layouts have. Too soon after the last change, nothing
   * happens.
   */
  async leave(inForce: number, layouts: readonly number[]): Promise<void> {
    const args = [2 * IN_FORCE_AFTER_MS, inForce, ...layouts];
    await LEAVE(this.redis, [keys.queueLayouts, keys.leftLayouts], args);
  }
}

function pairsOf(flat: readonly number[]): readonly (readonly [number, number])[] {
  return flat.flatMap((value, i) => (i % 2 === 0 ? [[value, flat[i + 1] ?? 0] as const] : []));
}
