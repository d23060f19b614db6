import { setTimeout as wait } from 'node:timers/promises';
import type { AccountId } from '@hookferry/core/domain/account';
import type { EndpointId } from '@hookferry/core/domain/endpoint';
import { EndedList } from '@hookferry/core/events/redis-ended-list';
import { PgDatabase } from '@hookferry/core/history/database/pg-database';
import { connectRedis, type RedisClient } from '@hookferry/core/platform/redis-connect';
import { createClosables } from '@hookferry/core/testing/closables';
import type { PostgresServer } from '@hookferry/core/testing/postgres-server';
import { BuiltService } from '../processes/built-service';
import { RedisProcess } from '../processes/measured-process';
import { EVENT_TYPE } from '../traffic/events';
import { ReceiverProcess } from '../traffic/receiver';

export const ACCOUNT = 'default' as AccountId;
export const KEEP_DAYS = 90;
export const DAY_MS = 86_400_000;
const ENDPOINTS = 10;
const SWEEP_LEASE_MS = 6 * 3_600_000;

/** The service with or without a history, and all that is around it. */
export interface HistoryStage {
  readonly redisProcess: RedisProcess;
  readonly redis: RedisClient;
  readonly endedList: EndedList;
  readonly receiver: ReceiverProcess;
  readonly service: BuiltService;
  readonly endpointIds: readonly EndpointId[];
}

export interface WithHistory extends HistoryStage {
  readonly postgres: PostgresServer;
  readonly database: PgDatabase;
}

/** With everything in Redis, as it is without a history, unless settings say something else. */
export async function inStage<T>(
  build: string,
  environment: Readonly<Record<string, string>>,
  work: (stage: HistoryStage) => Promise<T>,
): Promise<T> {
  const { willClose, closeAll } = createClosables();
  try {
    const redisProcess = willClose(await RedisProcess.start());
    const receiver = willClose(await ReceiverProcess.start());
    const { url: redisUrl } = redisProcess;
    const redis = connectRedis({ url: redisUrl, role: 'working', name: 'bench', emit: () => {} });
    willClose({ close: () => redis.disconnect() });
    const endedList = new EndedList(redis);
    // What is loaded is in the list of what has ended: nobody need look for it.
    await endedList.leaseSweep('bench', SWEEP_LEASE_MS);
    const service = willClose(await BuiltService.start({ build, redisUrl, environment }));
    const webhooks = Array.from({ length: ENDPOINTS }, (_, i) => ({
      url: receiver.urlOf('ok', `old-${i}`),
      events: [EVENT_TYPE],
    }));
    const endpointIds = (await service.registerAll(ACCOUNT, webhooks)) as readonly EndpointId[];
    return await work({ redisProcess, redis, endedList, receiver, service, endpointIds });
  } finally {
    await closeAll();
  }
}

/** With a history that takes what has ended at once. */
export async function inHistory<T>(
  build: string,
  postgres: PostgresServer,
  work: (stage: WithHistory) => Promise<T>,
): Promise<T> {
  const { url } = postgres;
  const environment = { HISTORY_DATABASE_URL: url, HISTORY_MOVE_AFTER: '0s' };
  const database = new PgDatabase({ url, applicationName: 'bench', readers: 2, writers: 2 });
  try {
    return await inStage(build, environment, (stage) => work({ ...stage, postgres, database }));
  } finally {
    await database.close();
  }
}

/** When the day that is over began: what is loaded was accepted on it. */
export function yesterday(now = Date.now()): number {
  return Math.floor(now / DAY_MS - 1) * DAY_MS;
}

export async function usedBytes(redis: RedisClient): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
}

const LOOK_EVERY_MS = 1_000;
const SCANNED_AT_ONCE = 10_000;
const LAPSING = /^(lapsing|moved):/;

/** Resolves once nothing lapses any more. A scan that meets an expired key removes it. */
export async function untilLapsed(redis: RedisClient): Promise<void> {
  while (await doSomeLapse(redis)) await wait(LOOK_EVERY_MS);
}

async function doSomeLapse(redis: RedisClient): Promise<boolean> {
  let doSome = false;
  let cursor = '0';
  do {
    const [next, names] = await redis.scan(cursor, 'COUNT', SCANNED_AT_ONCE);
    doSome ||= names.some((name) => LAPSING.test(name));
    cursor = next;
  } while (cursor !== '0');
  return doSome;
}

export function say(text: string): void {
  process.stderr.write(`  ${new Date().toISOString().slice(11, 19)} ${text}\n`);
}
