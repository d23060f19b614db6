import { z } from 'zod';
import type { RedisClient } from '../kernel/redis-connect';
import { defineScript } from '../kernel/redis-script';
import { keys } from '../model/keys';

const readingSchema = z.object({
  /** Of the metric. */
  name: z.string(),
  labels: z.record(z.string(), z.string()),
  value: z.number(),
});
/** A number that is the same whoever reads it. */
export type Reading = Readonly<z.infer<typeof readingSchema>>;

const readingsSchema = z.array(readingSchema).readonly();
export type Readings = z.infer<typeof readingsSchema>;

/** Whose turn it is to read, and what was read last, if that is not too long ago. */
export interface ReadingsTurn {
  readonly isOurs: boolean;
  readonly latest: Readings | undefined;
}

/** A reading is good for so long, for everybody. */
export const READ_EVERY_MS = 5_000;
/** What is older is not shown any more: rather no number than one that stands still. */
export const KEPT_MS = 3 * READ_EVERY_MS;

// KEYS: turn, readings. ARGV: who asks, how long a turn lasts.
const TAKE_TURN = defineScript(`
  local is_ours = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
  return {is_ours and 1 or 0, redis.call('GET', KEYS[2]) or ''}`);

// Whoever took longer than a turn may be overtaken. KEYS: turn, readings. ARGV: who saves, readings, how long to keep them.
const SAVE = defineScript(`
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return end
  redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])`);

const turnSchema = z.tuple([z.number(), z.string()]);

/** What one worker reads for all of them. */
export function createRedisReadingsStore(redis: RedisClient, workerId: string) {
  const scriptKeys = [keys.readingsTurn, keys.readings];
  return {
    /** A turn lasts as long as its readings are good, also when whoever has it dies. */
    async takeTurn(): Promise<ReadingsTurn> {
      const reply = await TAKE_TURN(redis, scriptKeys, [workerId, READ_EVERY_MS]);
      const [isOurs, text] = turnSchema.parse(reply);
      const latest = text === '' ? undefined : readingsSchema.parse(JSON.parse(text));
      return { isOurs: isOurs === 1, latest };
    },

    /** Has no effect once the turn is over. */
    async save(readings: Readings): Promise<void> {
      await SAVE(redis, scriptKeys, [workerId, JSON.stringify(readings), KEPT_MS]);
    },
  };
}

export type ReadingsStore = ReturnType<typeof createRedisReadingsStore>;
