import { setTimeout as wait } from 'node:timers/promises';
import { letLapse } from '@hookferry/core/testing/let-lapse';
import type { Cluster, Redis } from 'ioredis';
import { type Finding, toFindings } from '../checks/finding';
import type { Progress } from '../progress';
import type { Service } from '../service';

/** Added to tables by the fault that has PostgreSQL refuse rows. */
export const REFUSING_CONSTRAINT = 'refused_by_a_fault';

const ENDED = 'over:{history}';
const REFUSED = 'set-aside:{history}';
const LOOK_EVERY_MS = 500;
// Several looks: something may be on its way between two of them.
const LOOKS = 20;
const SCANNED_AT_ONCE = 2_000;
const SHOWN_OF_A_LOG = 400;
const PATTERNS = ['event:{*', 'receivers:{*', 'delivery:{*', 'moved:{*'];

/** Waits until what has ended has moved, and lets it lapse; at most for as long as anything moves. */
export async function untilMoved(service: Service, stuckAfterMs: number, progress: Progress): Promise<void> {
  const redis = service.deployment.connect({ maxRetriesPerRequest: null });
  try {
    let last = '';
    let movedAt = Date.now();
    for (;;) {
      const count = await redis.zcard(ENDED);
      progress.show(`moving: ${count} left`);
      if (count === 0) return await letLapse(redis);
      const now = `${count} ${String(await redis.zrange(ENDED, '0', '0', 'WITHSCORES'))}`;
      if (now !== last) movedAt = Date.now();
      last = now;
      if (Date.now() - movedAt > stuckAfterMs) return;
      await wait(LOOK_EVERY_MS);
    }
  } finally {
    redis.disconnect();
  }
}

/** As when a minute has gone by since the last move. */
export async function letAllLapse(service: Service): Promise<void> {
  const redis = service.deployment.connect({ maxRetriesPerRequest: null });
  try {
    await letLapse(redis);
  } finally {
    redis.disconnect();
  }
}

/** What PostgreSQL was made to refuse, and nothing else, is refused and is still there. Then it is tried again. */
export async function retryRefused(service: Service): Promise<readonly Finding[]> {
  const redis = service.deployment.connect({ maxRetriesPerRequest: null });
  const refused = await redis.hgetall(REFUSED);
  const keys = Object.keys(refused).length === 0 ? [] : await findKeys(redis);
  redis.disconnect();
  if (keys.length > 0) await service.administer(['history', 'retry-refused']);
  return [
    ...toFindings(
      'refused for no reason of a fault',
      Object.entries(refused)
        .filter(([, reason]) => !reason.includes(REFUSING_CONSTRAINT))
        .map(([entry, reason]) => `${entry}: ${reason}`),
    ),
    ...toFindings(
      'refused, and not in Redis',
      Object.keys(refused).filter((entry) => !keysOf(entry).some((key) => keys.includes(key))),
    ),
  ];
}

/** Whether Redis is empty of all that has ended. */
export async function checkMoved(service: Service): Promise<readonly Finding[]> {
  const redis = service.deployment.connect({ maxRetriesPerRequest: null });
  try {
    for (let look = 1; ; look += 1) {
      await letLapse(redis);
      const findings = await findLeft(redis);
      if (findings.length === 0 || look === LOOKS) return findings;
      await wait(LOOK_EVERY_MS);
    }
  } finally {
    redis.disconnect();
  }
}

async function findLeft(redis: Redis | Cluster): Promise<readonly Finding[]> {
  const refused = Object.keys(await redis.hgetall(REFUSED));
  const ended = await redis.zrange(ENDED, '0', '-1');
  const left = await Promise.all((await findKeys(redis)).map((key) => describeKey(redis, key)));
  return toFindings('ended, and still in Redis', [...ended, ...refused, ...left]);
}

// What is left of a log tells who has written it.
async function describeKey(redis: Redis | Cluster, key: string): Promise<string> {
  const log = key.startsWith('delivery:') ? await redis.get(key) : undefined;
  return log ? `${key}: ${log.slice(0, SHOWN_OF_A_LOG)}` : key;
}

/** The keys of an entry `account/event.webhook`, and of its event. */
function keysOf(entry: string): readonly string[] {
  const [event = '', webhook = ''] = entry.split('.');
  const id = event.slice(event.indexOf('/') + 1);
  return [
    `event:{${event}}`,
    `receivers:{${event}}`,
    `moved:{${event}}`,
    ...(webhook === '' ? [] : [`delivery:{${webhook}}:${id}`]),
  ];
}

async function findKeys(redis: Redis | Cluster): Promise<readonly string[]> {
  const found: string[] = [];
  for (const pattern of PATTERNS) {
    let cursor = '0';
    do {
      const [next, keys] = await (redis as Redis).scan(cursor, 'MATCH', pattern, 'COUNT', SCANNED_AT_ONCE);
      found.push(...keys);
      cursor = next;
    } while (cursor !== '0');
  }
  return found;
}
