import { once } from 'node:events';
import {
  createManageApiKeys,
  ensureDefaultAccount,
  type ManageApiKeys,
  newApiKey,
} from '@hookferry/core/accounts/api-keys';
import { createRedisAccountStore } from '@hookferry/core/accounts/redis-account-store';
import { createRedisApiKeyStore } from '@hookferry/core/accounts/redis-api-key-store';
import { createQueueLayout, type QueueShards, shardsAmong } from '@hookferry/core/domain/queues';
import { createRedisAdmissionStore } from '@hookferry/core/endpoints/flow/redis-admission-store';
import { createRedisRemoveEndpoints } from '@hookferry/core/endpoints/redis-endpoint-store';
import { createRedisDeliveryStore } from '@hookferry/core/events/redis-delivery-store';
import { createEraseAccount, type EraseAccount } from '@hookferry/core/operations/erase-account';
import { createManageAccounts, type ManageAccounts } from '@hookferry/core/operations/manage-accounts';
import { type CopyResult, copyData } from '@hookferry/core/operations/redis-copy-data';
import { createRedisRemainsStore } from '@hookferry/core/operations/redis-remains-store';
import { type Clock, systemClock } from '@hookferry/core/platform/clock';
import { createNewId } from '@hookferry/core/platform/ids';
import {
  connectRedis,
  queuePrefix,
  type RedisClient,
  storageUnavailable,
} from '@hookferry/core/platform/redis-connect';
import { DeadLetterStore } from '@hookferry/core/queue/bullmq-dead-letter-store';
import { HeldDeliveries } from '@hookferry/core/queue/bullmq-held-deliveries';
import { ErasureQueue } from '@hookferry/core/queue/bullmq-work-queues';
import { LayoutStore } from '@hookferry/core/queue/redis-layout-store';
import type { DropContext, RedriveContext } from '@hookferry/core/replays/manage-dead-letters';
import { ReplayStore } from '@hookferry/core/replays/redis-replay-store';
import type { CliConfig } from './config';

export type DeadLettersContext = RedriveContext & DropContext & { readonly deadLetterStore: DeadLetterStore };

/** What the commands work with: the same use cases as the API's. */
export interface Service {
  readonly apiKeys: ManageApiKeys;
  readonly accounts: ManageAccounts;
  readonly eraseAccount: EraseAccount;
  readonly deadLetters: DeadLettersContext;
  readonly copyTo: (url: string, onProgress: (keys: number) => void) => Promise<CopyResult>;
  readonly clock: Clock;
  close(): Promise<void>;
}

const CONNECT_PATIENCE_MS = 5_000;

// A command says itself what it does.
const emit = () => {};

/** @throws AppError `storage_unavailable`. */
export async function openService(config: CliConfig): Promise<Service> {
  const redis = connectRedis({ url: config.REDIS_URL, role: 'answering', name: 'admin', emit });
  try {
    await untilReady(redis);
    return await composeService(redis, config);
  } catch (error) {
    redis.disconnect();
    throw error;
  }
}

async function composeService(redis: RedisClient, config: CliConfig): Promise<Service> {
  const clock = systemClock;
  const newId = createNewId(clock);
  const accountStore = createRedisAccountStore(redis);
  const shards = await findShards(redis, queuePrefix(config.REDIS_URL));
  const remainsStore = createRedisRemainsStore(redis, shards);
  await ensureDefaultAccount(accountStore, clock);
  const deadLetterStore = new DeadLetterStore(redis, shards, clock);
  const erasureQueue = new ErasureQueue(redis, shards);
  const retention = { ageMs: config.RETENTION, count: config.RETENTION_COUNT };
  return {
    apiKeys: createManageApiKeys({
      apiKeyStore: createRedisApiKeyStore(redis),
      accountStore,
      newKey: () => newApiKey(newId),
      clock,
    }),
    accounts: createManageAccounts({ accountStore, remainsStore, newId, clock }),
    eraseAccount: createEraseAccount({
      accountStore,
      removeEndpoints: createRedisRemoveEndpoints(redis),
      remainsStore,
      erasureQueue,
      clock,
      emit,
    }),
    deadLetters: {
      deadLetterStore,
      deliveryStore: createRedisDeliveryStore(redis, retention),
      admissionStore: createRedisAdmissionStore(redis),
      heldDeliveries: new HeldDeliveries(redis, shards),
      replayStore: new ReplayStore(redis, config.RETENTION),
      clock,
      emit,
    },
    copyTo: (url, onProgress) =>
      withRedis(url, (to) => copyData({ redis, url: config.REDIS_URL }, { redis: to, url }, onProgress)),
    clock,
    async close() {
      await Promise.all([deadLetterStore, erasureQueue].map((queue) => queue.close()));
      redis.disconnect();
    },
  };
}

/** Connects for as long as `work` takes. @throws AppError `storage_unavailable`. */
async function withRedis<Result>(
  url: string,
  work: (redis: RedisClient) => Promise<Result>,
): Promise<Result> {
  const redis = connectRedis({ url, role: 'working', name: 'admin', emit });
  try {
    await untilReady(redis);
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

/** As they are at the moment: a command is short. */
async function findShards(redis: RedisClient, firstPrefix: string): Promise<QueueShards> {
  const { inForce, others } = await new LayoutStore(redis, firstPrefix).look(undefined, []);
  const [layout, ...rest] = [inForce, ...others].map(({ count }) => createQueueLayout(count, firstPrefix));
  return shardsAmong(layout ?? createQueueLayout(1, firstPrefix), rest);
}

// Somebody sits before it, so the first error decides; a process of the service would go on trying.
async function untilReady(redis: RedisClient): Promise<void> {
  try {
    await once(redis, 'ready', { signal: AbortSignal.timeout(CONNECT_PATIENCE_MS) });
  } catch (error) {
    throw storageUnavailable(error);
  }
}
