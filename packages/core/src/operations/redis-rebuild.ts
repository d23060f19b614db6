import { QUEUE_PREFIX } from '@hookferry/producer/contract';
import { z } from 'zod';
import { queueOfPause } from '../accounts/redis-pause-store';
import { type AccountId, accountSchema, apiKeySchema } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import { keys, queueKeysOf } from '../domain/keys';
import type { Emit } from '../domain/signal';
import { lacksProof } from '../domain/verification';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { TransformationStore } from '../endpoints/redis-transformation-store';
import type { VerificationStore } from '../endpoints/verification/redis-verification-store';
import type { PgRecordCopies, RecordCopy } from '../history/database/pg-record-copies';
import { AppError } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import type { RedisClient } from '../platform/redis-connect';
import { timedMember } from '../platform/redis-timeline';
import { type PausedQueues, pausableQueues } from '../queue/bullmq-paused-queues';
import type { ErasureQueue } from '../queue/bullmq-work-queues';
import { readRecord } from './redis-configuration-copy';

export interface RebuildParts {
  readonly redis: RedisClient;
  readonly pgRecordCopies: PgRecordCopies;
  readonly endpointStore: EndpointStore;
  readonly verificationStore: VerificationStore;
  readonly transformationStore: TransformationStore;
  readonly erasureQueue: ErasureQueue;
  readonly pausedQueues: PausedQueues;
  readonly clock: Clock;
  readonly emit: Emit;
}

/**
 * What is copied, by the beginnings of the keys, in the order in which it is brought back: nothing runs that was paused, and
 * whoever has a key again finds everything of the account.
 */
const kinds = {
  pauses: keys.pauses,
  accounts: keys.accounts,
  event_types: keys.eventTypes,
  signing_keys: keys.signingKeys('' as AccountId).slice(0, -1),
  transformations: keys.transformations('' as EndpointId).slice(0, -1),
  webhooks: keys.endpoints('' as AccountId).slice(0, -1),
  contacts: keys.contacts('' as AccountId).slice(0, -1),
  api_keys: keys.apiKey('').slice(0, -1),
} as const;
export type CopiedKind = keyof typeof kinds;
export const copiedKinds = Object.keys(kinds) as readonly CopiedKind[];
/** How many records of each kind were brought back or removed, and how many could not be: they can't be read, or are in the way of others. */
export type RebuiltCounts = Readonly<Record<CopiedKind | 'failed', number>>;

const AT_ONCE = 200;
// The two clocks differ, and a change was made before it was copied.
const MARGIN_MS = 120_000;
const ACCOUNT_WEIGHTS = queueKeysOf(QUEUE_PREFIX).accountWeights;

/** Fills Redis with what PostgreSQL has copies of. */
export class Rebuild {
  constructor(private readonly parts: RebuildParts) {}

  /**
   * Bring back what Redis has not, or otherwise than its copy. It may be repeated, and the service may run.
   *
   * @param since only what was changed since then, by Redis' clock. Absent: everything.
   */
  async run(since?: number): Promise<RebuiltCounts> {
    const counts = Object.fromEntries([...copiedKinds, 'failed'].map((kind) => [kind, 0]));
    for (const kind of copiedKinds) {
      const from = since === undefined ? 0 : Math.max(since - MARGIN_MS, 0);
      for await (const page of this.parts.pgRecordCopies.pages(kinds[kind], from, AT_ONCE)) {
        for (const copy of page) await this.#tryOne(kind, copy, counts);
      }
    }
    return counts as RebuiltCounts;
  }

  async #tryOne(kind: CopiedKind, copy: RecordCopy, counts: Record<string, number>): Promise<void> {
    try {
      if (await this.#bringBack(kind, copy)) counts[kind] = (counts[kind] ?? 0) + 1;
    } catch (error) {
      // The others come back all the same.
      if (!isOwnFault(error)) throw error;
      this.parts.emit({ name: 'task.failed', task: 'bring back what was configured', error });
      counts.failed = (counts.failed ?? 0) + 1;
    }
  }

  async #bringBack(kind: CopiedKind, name: RecordCopy): Promise<boolean> {
    const { redis, pgRecordCopies } = this.parts;
    return await pgRecordCopies.locked(name, async (copy) => {
      const present = await readRecord(redis, name);
      if (copy === undefined) return { reply: false };
      if (present === (copy.value ?? null)) {
        // In a Cluster, another node may have lost the queue.
        if (kind === 'pauses' && copy.value !== undefined) await this.#pauseQueue(name.field, true);
        return { reply: false };
      }
      if (copy.value === undefined) await this.#remove(kind, copy, present ?? '');
      else await this.#put(kind, copy, copy.value);
      return { reply: true };
    });
  }

  async #put(kind: CopiedKind, { key, field, accountId }: RecordCopy, value: string): Promise<void> {
    const { redis, endpointStore, verificationStore, transformationStore, clock } = this.parts;
    switch (kind) {
      case 'accounts':
        await redis.hset(key, field, value);
        return await this.#putAccount(accountId, value);
      case 'webhooks': {
        const endpoint = await endpointStore.bringBack(accountId, field as EndpointId, value);
        const address = { accountId, endpointId: endpoint.id };
        if (lacksProof(endpoint)) await verificationStore.ask(address, clock());
        return;
      }
      case 'api_keys': {
        const { id, createdAt } = apiKeySchema.parse(JSON.parse(value));
        await redis.zadd(keys.apiKeyIds(accountId), 0, timedMember(createdAt, id));
        return void (await redis.set(key, value));
      }
      case 'contacts':
        await redis.zadd(keys.contactAccounts, 'LT', clock(), accountId);
        return void (await redis.hset(key, field, value));
      case 'signing_keys':
        return void (await redis.set(key, value));
      case 'pauses':
        // The record decides: whoever resumes the queue meanwhile looks at it again.
        await redis.hset(key, field, value);
        return await this.#pauseQueue(field, true);
      case 'transformations': {
        const endpointId = key.slice(kinds.transformations.length, -1) as EndpointId;
        return await transformationStore.bringBack(endpointId, Number(field), value);
      }
      case 'event_types':
        return void (await redis.hset(key, field, value));
    }
  }

  /** An account's webhooks have copies of their own, and are disabled there. */
  async #pauseQueue(field: string, isPaused: boolean): Promise<void> {
    const { pausedQueues } = this.parts;
    const name = pausableQueues.find((queue) => queue === queueOfPause(field));
    if (name !== undefined) await (isPaused ? pausedQueues.pause(name) : pausedQueues.resume(name));
  }

  async #putAccount(id: AccountId, value: string): Promise<void> {
    const { redis, erasureQueue } = this.parts;
    const { createdAt, weight, quotaBytes, erasingSince } = accountSchema.parse(JSON.parse(value));
    await redis.zadd(keys.accountIds, 0, timedMember(createdAt, id));
    if (weight !== undefined) await redis.hset(ACCOUNT_WEIGHTS, id, weight);
    if (quotaBytes !== undefined) await redis.set(keys.quota(id), quotaBytes);
    if (erasingSince !== undefined) await erasureQueue.add(id);
  }

  /** @param present what Redis has, of before it was removed; empty: nothing. */
  async #remove(kind: CopiedKind, { key, field, accountId }: RecordCopy, present: string): Promise<void> {
    const { redis, endpointStore, erasureQueue, clock } = this.parts;
    switch (kind) {
      case 'accounts': {
        // It was erased. What this Redis has of it is erased again, and its record with it.
        const account = accountSchema.parse(JSON.parse(present));
        await redis.hset(key, field, JSON.stringify({ ...account, erasingSince: clock() }));
        return await erasureQueue.add(accountId);
      }
      case 'webhooks':
        return await endpointStore.removeAgain(accountId, field as EndpointId);
      case 'api_keys': {
        const { id, createdAt } = apiKeySchema.parse(JSON.parse(present));
        await redis.unlink(key, keys.apiKeyUsed(id));
        return void (await redis.zrem(keys.apiKeyIds(accountId), timedMember(createdAt, id)));
      }
      case 'signing_keys':
        return void (await redis.unlink(key));
      case 'pauses':
        await redis.hdel(key, field);
        return await this.#pauseQueue(field, false);
      case 'contacts':
      case 'event_types':
      case 'transformations':
        return void (await redis.hdel(key, field));
    }
  }
}

/** The record is at fault, and neither Redis nor PostgreSQL. */
function isOwnFault(error: unknown): boolean {
  if (error instanceof AppError) return ['conflict', 'secret_unreadable'].includes(error.code);
  return error instanceof z.ZodError || error instanceof SyntaxError;
}
