import { createHash } from 'node:crypto';
import type { RedisClient } from './redis-connect';

/** Runs a script over keys that share one hash tag. Numbers are handed over as texts. */
export type RunScript = (
  redis: RedisClient,
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<unknown>;

/** A script that is called by its digest: its text goes over the wire only to a server that does not know it yet. */
export function defineScript(text: string): RunScript {
  const digest = createHash('sha1').update(text).digest('hex');
  return async function runScript(redis, keys, args) {
    const parameters = [...keys, ...args.map(String)];
    try {
      return await redis.evalsha(digest, keys.length, ...parameters);
    } catch (error) {
      if (!isUnknownScript(error)) throw error;
      return await redis.eval(text, keys.length, ...parameters);
    }
  };
}

// The first word of Redis' answer is its code.
function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}
