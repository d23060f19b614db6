import type { PublisherOptions } from './event-publisher';

const DEFAULT_PATIENCE_MS = 5_000;
const DAY_MS = 86_400_000;

/** The longest wait of publishing, in milliseconds. @throws TypeError if an option is not valid. */
export function checkOptions(options: PublisherOptions): number {
  const { redisUrl, connection, patienceMs = DEFAULT_PATIENCE_MS, confirmedBy = 0 } = options;
  // A variable that is not set is undefined, and ioredis would then connect to this machine.
  check(
    redisUrl !== undefined || Boolean(connection),
    'pass redisUrl or connection. Check that its variable is set, such as REDIS_URL=redis://…',
  );
  check(
    Number.isInteger(patienceMs) && patienceMs >= 1 && patienceMs <= DAY_MS,
    `patienceMs must be a whole number of milliseconds from 1 to ${DAY_MS}`,
  );
  check(
    Number.isInteger(confirmedBy) && confirmedBy >= 0 && confirmedBy <= 10,
    'confirmedBy must be a whole number of replicas from 0 to 10',
  );
  return patienceMs;
}

function check(isGood: boolean, message: string): asserts isGood {
  if (!isGood) throw new TypeError(`createEventPublisher: ${message}.`);
}
