import { setTimeout as wait } from 'node:timers/promises';
import { keys } from '@hookferry/core/domain/keys';
import { digestOf } from '@hookferry/core/events/redis-moved-ids';
import { postgresCpuMs } from '../processes/measured-postgres';
import { watchOthers } from '../processes/measured-process';
import { loadHistory } from './load-history';
import { ACCOUNT, say, untilLapsed, usedBytes, type WithHistory } from './stage';

const LOOK_EVERY_MS = 20;
const TOLD_EVERY_MS = 30_000;

export const FAILED_TYPE = 'order.rejected';
const FIRST_ID = 10_000_000;
const FIRST_FAILED_ID = 60_000_000;
/** Digits of the number that each event has of its own, and where they begin in its data. */
export const ID_DIGITS = 8;
export const ID_AT = '{"order":{"id":'.length + 1;
const DATA_BYTES = 100;

export function orderId(i: number): number {
  return FIRST_ID + i;
}

/** Data of a hundred bytes. */
function contentOf(type: string, id: number) {
  const start = `{"order":{"id":${id}},"customer":"c-${String(id % 1_000).padStart(4, '0')}","note":"`;
  return { type, body: `{"type":"${type}","data":${start.padEnd(DATA_BYTES - 2, 'abcdefgh ')}"}}` };
}

export interface MoveFigures {
  readonly moved: number;
  readonly perSecond: number;
  /** Processor time for each, in microseconds. */
  readonly workerMicros: number;
  readonly redisMicros: number;
  readonly postgresMicros: number;
  /** How many cores others took meanwhile. */
  readonly coresOfOthers: number;
  /** How much larger Redis' memory is than before any of it, in bytes. */
  readonly redisGrowth: number;
}

/** Deliver as many events of an attempt each, on record in Redis, and move them while nothing else happens. */
export async function moveMany(stage: WithHistory, deliveries: number, type: string): Promise<MoveFigures> {
  const { service, redis, endedList } = stage;
  await service.stopWorker();
  const before = await usedBytes(redis);
  const isFailed = type === FAILED_TYPE;
  const first = isFailed ? FIRST_FAILED_ID : FIRST_ID;
  const contentOfEach = (i: number) => contentOf(type, first + i);
  await loadHistory(stage, { deliveries, contentOf: contentOfEach, areFailing: isFailed, endedList });
  service.startWorker();
  const figures = await measureMoving(stage, deliveries);
  await untilLapsed(redis);
  return { ...figures, redisGrowth: (await usedBytes(redis)) - before };
}

// The first batches are not counted: the worker starts, and makes the day.
const SKIPPED_SHARE = 0.02;

async function measureMoving(
  { endedList, service, redisProcess, postgres, receiver }: WithHistory,
  total: number,
): Promise<Omit<MoveFigures, 'redisGrowth'>> {
  const look = async () => ({
    left: await endedList.count(),
    at: performance.now(),
    worker: service.worker.cpuMs(),
    redis: redisProcess.cpuMs(),
    postgres: postgresCpuMs(postgres),
  });
  let begin = await look();
  while (begin.left > total * (1 - SKIPPED_SHARE)) {
    await wait(LOOK_EVERY_MS);
    begin = await look();
  }
  const others = watchOthers([service.worker, service.api, redisProcess, receiver]);
  let end = begin;
  let toldAt = begin.at;
  while (end.left > 0) {
    await wait(LOOK_EVERY_MS);
    end = await look();
    if (end.at - toldAt < TOLD_EVERY_MS) continue;
    toldAt = end.at;
    say(`${total - end.left} of ${total} moved`);
  }
  const [moved, tookMs] = [begin.left, end.at - begin.at];
  const micros = (part: 'worker' | 'redis' | 'postgres') => ((end[part] - begin[part]) * 1_000) / moved;
  return {
    moved,
    perSecond: (moved * 1_000) / tookMs,
    workerMicros: micros('worker'),
    redisMicros: micros('redis'),
    postgresMicros: micros('postgres'),
    coresOfOthers: others() - (end.postgres - begin.postgres) / tookMs,
  };
}

/** How much of Redis the id of an event takes that a client chose, once it has moved. */
export async function measureClaims(stage: WithHistory, deliveries: number): Promise<number> {
  const { service, redis, endedList } = stage;
  await service.stopWorker();
  const before = await usedBytes(redis);
  await loadHistory(stage, {
    deliveries,
    contentOf: (i) => contentOf(FAILED_TYPE, FIRST_FAILED_ID - deliveries + i),
    onPut: async ({ id, body, acceptedAt }) => {
      const claim = { digest: digestOf(body), accepted_at: acceptedAt, queued: 1 };
      await redis.hset(keys.eventClaim(ACCOUNT, id), claim);
    },
    endedList,
  });
  service.startWorker();
  while ((await endedList.count()) > 0) await wait(LOOK_EVERY_MS);
  await untilLapsed(redis);
  return ((await usedBytes(redis)) - before) / deliveries;
}
