import { once } from 'node:events';
import { userInfo } from 'node:os';
import { keepCopies } from '@hookferry/core/accounts/redis-record-copies';
import { openCore } from '@hookferry/core/core/open-core';
import { openConfirmation } from '@hookferry/core/core/open-process';
import type { Stores } from '@hookferry/core/core/open-stores';
import { AccessTokenStore } from '@hookferry/core/deliver/redis-access-token-store';
import { type Act, AUDIT_ID_PREFIX, type AuditAction, type AuditEntry } from '@hookferry/core/domain/audit';
import { createQueueLayout, type QueueShards, shardsAmong } from '@hookferry/core/domain/queues';
import type { Emit } from '@hookferry/core/domain/signal';
import { ContactStore } from '@hookferry/core/notifications/redis-contact-store';
import { Resealing } from '@hookferry/core/operations/resealing';
import { AppError, messageOf } from '@hookferry/core/platform/app-error';
import { createNewId } from '@hookferry/core/platform/ids';
import { createAtomic } from '@hookferry/core/platform/redis-atomic';
import { RedisClock } from '@hookferry/core/platform/redis-clock';
import {
  type ConnectionRole,
  type ConnectOptions,
  connectRedis,
  queuePrefix,
  type RedisClient,
} from '@hookferry/core/platform/redis-connect';
import { storageUnavailable } from '@hookferry/core/platform/redis-errors';
import { ConnectionHealth } from '@hookferry/core/platform/redis-keeper';
import type { SealingKey } from '@hookferry/core/platform/sealing-key';
import { settledWithin } from '@hookferry/core/platform/timers';
import { LayoutStore } from '@hookferry/core/queue/redis-layout-store';
import type { CliConfig } from './config';

/** What the commands work with: the modules of the core, as in the API. */
export type AdminContext = Awaited<ReturnType<typeof openContext>>;

const CONNECT_PATIENCE_MS = 5_000;
const DATABASE = { applicationName: 'hookferry-admin', readers: 1, writers: 1 };

/**
 * Connect for as long as `action` takes. A command prints its own messages; `warn` gets what was done beside it, and failed.
 * @throws AppError `storage_unavailable` when there is no connection.
 */
export async function withContext(
  config: CliConfig,
  action: (context: AdminContext) => Promise<void>,
  warn: (text: string) => void,
): Promise<void> {
  const emit: Emit = (signal) => {
    if (signal.name === 'task.failed') warn(`Failed: ${signal.task}. ${messageOf(signal.error)}\n`);
  };
  await withRedis('answering', config.REDIS_URL, async (redis) => {
    const connection = {
      ...connectionOf('answering', config.REDIS_URL),
      emit,
      health: new ConnectionHealth(),
    };
    const confirmation = openConfirmation(config.REDIS_CONFIRMED_BY, connection, redis);
    const mark = confirmation?.mark() ?? 0;
    try {
      await act(await openContext(redis, config, emit), action);
      await confirmation?.confirm(mark);
    } finally {
      confirmation?.close();
    }
  });
}

async function act(context: AdminContext, action: (context: AdminContext) => Promise<void>): Promise<void> {
  try {
    await action(context);
  } catch (error) {
    await noteRefusal(context, error);
    throw error;
  } finally {
    for (const part of [...context.recorders, ...context.connections]) await part.stop();
  }
}

/** Record in the audit log that the command's last action was refused or failed. */
async function noteRefusal({ refusals, acting, newId, clock }: AdminContext, error: unknown) {
  const refusal = error instanceof AppError ? error : error instanceof Error ? error.cause : undefined;
  if (acting.last === undefined || !(refusal instanceof AppError)) return;
  const { code } = refusal;
  // There is nothing to write it to.
  if (code === 'storage_unavailable') return;
  await refusals.record({ ...acting.last, id: newId(AUDIT_ID_PREFIX), at: clock(), code });
}

async function openContext(redis: RedisClient, config: CliConfig, emit: Emit) {
  const redisClock = new RedisClock({ redis, emit });
  await settledWithin(CONNECT_PATIENCE_MS, redisClock.start());
  await redisClock.stop();
  const clock = redisClock.now;
  const newId = createNewId(clock);
  const shards = await findShards(redis, queuePrefix(config.REDIS_URL));
  const atomic = createAtomic(redis);
  const core = openCore({
    config,
    redis,
    shards,
    atomic,
    clock,
    emit,
    database: DATABASE,
    whenCopiesAreAway: 'refused',
  });
  // Before anything is copied: an empty Redis must not keep `rebuild` from its work.
  await core.accounts.ensureDefault();
  const { configurationCopy } = core.stores;
  if (configurationCopy) keepCopies(redis, configurationCopy);
  const acting: { last?: Omit<AuditEntry, 'id' | 'at'> } = {};
  const [firstKey] = config.SECRETS_ENCRYPTION_KEY;
  return {
    ...core,
    /** `undefined`: there is no key to seal with. */
    resealing: firstKey && openResealing(core.stores, firstKey),
    config,
    redis,
    newId,
    clock,
    acting,
    /** @param on whose log it belongs to, and what it is about, should it be refused. */
    actOf: (command: string, action: AuditAction, on: Pick<AuditEntry, 'accountId' | 'targetId'>): Act => {
      const actor = { type: 'admin_command', command, system_user: systemUser() } as const;
      acting.last = { actor, action, ...on };
      const { auditBounds: bounds, onRecorded } = core.stores;
      return { id: newId(AUDIT_ID_PREFIX), at: clock(), actor, action, bounds, onRecorded };
    },
  };
}

function openResealing(stores: Stores, firstKey: SealingKey): Resealing {
  const { redis, sealer, endpointStore, signingKeyStore } = stores;
  const sealed = {
    webhooks: endpointStore,
    signing_keys: signingKeyStore,
    contacts: new ContactStore(redis, sealer),
    access_tokens: new AccessTokenStore(redis, sealer),
  };
  return new Resealing({ ...stores, stores: sealed, firstKey });
}

// The user who called sudo, not root. In a container a user may have no name.
function systemUser(): string {
  const { SUDO_USER: behindSudo } = process.env;
  if (behindSudo !== undefined && behindSudo !== '') return behindSudo;
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Connects for as long as `work` takes. @throws AppError `storage_unavailable` when there is no connection. */
export async function withRedis<Result>(
  role: ConnectionRole,
  url: string,
  work: (redis: RedisClient) => Promise<Result>,
): Promise<Result> {
  const redis = connectRedis(connectionOf(role, url));
  try {
    await untilReady(redis);
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

function connectionOf(role: ConnectionRole, url: string): ConnectOptions {
  return { url, role, name: 'admin', emit: () => {} };
}

/** As they are at the moment: a command is short. */
async function findShards(redis: RedisClient, firstPrefix: string): Promise<QueueShards> {
  const { inForce, others } = await new LayoutStore(redis, firstPrefix).look(undefined, []);
  const [layout, ...rest] = [inForce, ...others].map(({ count }) => createQueueLayout(count, firstPrefix));
  return shardsAmong(layout ?? createQueueLayout(1, firstPrefix), rest);
}

// A person waits for it, so the first error ends it. A process of the service would try again.
async function untilReady(redis: RedisClient): Promise<void> {
  try {
    await once(redis, 'ready', { signal: AbortSignal.timeout(CONNECT_PATIENCE_MS) });
  } catch (error) {
    throw storageUnavailable(error);
  }
}
