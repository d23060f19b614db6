import type { PublisherOptions } from './event-publisher';

const DEFAULT_PATIENCE_MS = 5_000;
const DAY_MS = 86_400_000;

/** How long publishing waits at most, in milliseconds. @throws TypeError for an option that can't work. */
export function checkOptions(options: PublisherOptions): number {
  const { redisUrl, connection, patienceMs = DEFAULT_PATIENCE_MS } = options;
  // A variable that is not set comes as undefined, and ioredis would take this machine for it.
  check(
    redisUrl !== undefined || Boolean(connection),
    'redisUrl is not set, and there is no connection: is its variable set, such as REDIS_URL=redis://…',
  );
  check(
    Number.isInteger(patienceMs) && patienceMs >= 1 && patienceMs <= DAY_MS,
    `patienceMs must be a whole number of milliseconds from 1 to ${DAY_MS}`,
  );
  return patienceMs;
}

function check(isGood: boolean, message: string): asserts isGood {
  if (!isGood) throw new TypeError(`createEventPublisher: ${message}.`);
}
