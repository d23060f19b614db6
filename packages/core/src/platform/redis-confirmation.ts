import { once } from 'node:events';
import { ConnectionBreaks } from '@hookferry/producer/internal';
import { Cluster, type Redis } from 'ioredis';
import type { AppError } from './app-error';
import { steadyClock } from './clock';
import { atEndOfTurn } from './end-of-turn';
import {
  type ConnectOptions,
  connectRedis,
  keysOfMasters,
  mastersOf,
  type RedisClient,
} from './redis-connect';
import { storageUnavailable } from './redis-errors';
import { fieldOf } from './redis-safety';

/** How a wait for replicas ended. */
export const confirmationResults = ['confirmed', 'too_few', 'failed'] as const;

/** A process has waited for the replicas of Redis: once for all that was written before. */
export interface RedisWaitedSignal {
  readonly name: 'redis.waited';
  readonly result: (typeof confirmationResults)[number];
  readonly durationMs: number;
  /** The replicas that had everything, of the master with the fewest. */
  readonly replicas: number;
  /** Why it was not confirmed. */
  readonly detail?: string;
}

export interface RedisConfirmationOptions {
  /** Its writes are confirmed. */
  readonly redis: RedisClient;
  /** How that was opened. Another one to the same servers is, for the wait holds up all that is sent behind it. */
  readonly connection: ConnectOptions;
  /** How many replicas of each master must have a write. */
  readonly replicas: number;
  /** The key of the write that is waited for, with this hash tag. Nothing reads it. */
  readonly keyOf: (tag: number) => string;
  readonly emit: (signal: RedisWaitedSignal) => void;
}

/** What was written is there, and may be lost in a fail-over. */
export class NotConfirmedError extends Error {}

// A replica that is well confirms within a millisecond. The client has its 503 before its own patience ends.
const PATIENCE_MS = 1_000;
const WRITTEN_FOR_MS = 1_000;

/**
 * Confirms that replicas have what a connection has written: then no fail-over to them loses it.
 *
 * Redis copies its writes in their order. So a small write behind all others, and WAIT for it, answers for all of them, whichever
 * connection they came by. That holds if the same server took both. Therefore a connection that has broken since confirms nothing.
 */
export class RedisConfirmation {
  readonly #waiting: RedisClient;
  readonly #breaks: ConnectionBreaks;
  #underWay: Promise<Wait> = Promise.resolve(NOTHING);
  #next: Promise<Wait> | undefined;
  #servers: readonly [ServerId, ServerId] | undefined;

  constructor(private readonly options: RedisConfirmationOptions) {
    const { redis, connection } = options;
    this.#waiting = connectRedis({
      ...connection,
      role: 'confirming',
      name: `${connection.name}-confirmation`,
    });
    this.#breaks = new ConnectionBreaks(redis);
    if (!(redis instanceof Cluster)) {
      this.#servers = [new ServerId(redis), new ServerId(this.#waiting as Redis)];
    }
  }

  /** What `confirm` compares. Take it before the first write. */
  mark(): number {
    return this.#breaks.count;
  }

  /**
   * Resolves once enough replicas have all that was written since the mark. All calls of one turn of the event loop wait together.
   *
   * @throws AppError `storage_unavailable`: it may be lost in a fail-over.
   */
  async confirm(mark: number): Promise<void> {
    const why = await this.lookFor(mark);
    if (why !== undefined) throw why;
  }

  /** The same. Gives the error instead. */
  async lookFor(mark: number): Promise<AppError | undefined> {
    this.#next ??= this.#waitNext();
    const { detail } = await this.#next;
    const why = mark === this.#breaks.count ? detail : 'The connection to Redis broke meanwhile.';
    return why === undefined ? undefined : storageUnavailable(new NotConfirmedError(why));
  }

  close(): void {
    this.#waiting.disconnect();
  }

  /** One wait at a time: those behind it share the next. */
  async #waitNext(): Promise<Wait> {
    await this.#underWay;
    await new Promise<void>((resolve) => atEndOfTurn(resolve));
    this.#next = undefined;
    this.#underWay = this.#wait();
    return await this.#underWay;
  }

  async #wait(): Promise<Wait> {
    const startedAt = steadyClock();
    const wait = await this.#askAll().catch(
      (error: unknown): Wait => ({
        result: 'failed',
        replicas: 0,
        detail: error instanceof Error ? error.message : String(error),
      }),
    );
    this.options.emit({ name: 'redis.waited', durationMs: steadyClock() - startedAt, ...wait });
    return wait;
  }

  async #askAll(): Promise<Wait> {
    const { replicas: wanted } = this.options;
    await this.#untilReady();
    const counts = await Promise.all(this.#nodes().map(confirmedBy(wanted)));
    if (this.#servers) requireSame(await Promise.all(this.#servers.map((server) => server.id)));
    const replicas = Math.min(...counts);
    if (replicas >= wanted) return { result: 'confirmed', replicas };
    const detail = `REDIS_CONFIRMED_BY is ${wanted}, and ${replicas} replicas confirmed a write within ${PATIENCE_MS} ms.`;
    return { result: 'too_few', replicas, detail };
  }

  /** At the start of a process, and after a break. What is sent without a connection fails at once. */
  async #untilReady(): Promise<void> {
    if (this.#waiting.status === 'ready') return;
    await once(this.#waiting, 'ready', { signal: AbortSignal.timeout(PATIENCE_MS) }).catch(() => {});
  }

  /** The masters that may have been written to, each with a key that it has. */
  #nodes(): readonly (readonly [Redis, string])[] {
    const { redis, keyOf } = this.options;
    if (!(redis instanceof Cluster)) return [[this.#waiting as Redis, keyOf(0)]];
    const servers = mastersOf(this.#waiting);
    const keys = [...keysOfMasters(redis, keyOf)];
    if (keys.length === 0) throw new Error('The masters of the Cluster are not known.');
    return keys.map(([address, key]) => {
      const server = servers.get(address);
      if (!server) throw new Error(`The Cluster has changed: ${address} is no master any more.`);
      return [server, key];
    });
  }
}

interface Wait {
  readonly result: RedisWaitedSignal['result'];
  readonly replicas: number;
  /** Why it is not confirmed. */
  readonly detail?: string;
}

const NOTHING: Wait = { result: 'confirmed', replicas: 0 };

function confirmedBy(replicas: number) {
  return async ([node, key]: readonly [Redis, string]): Promise<number> => {
    const written = node.set(key, '', 'PX', WRITTEN_FOR_MS);
    const [, count] = await Promise.all([written, node.wait(replicas, PATIENCE_MS)]);
    return count;
  };
}

/** Which process serves a connection. An address says less: what is behind it may be replaced. */
class ServerId {
  id: Promise<string | undefined> = Promise.resolve(undefined);

  constructor(redis: Redis) {
    const read = () => {
      this.id = redis.info('server').then((info) => fieldOf(info, 'run_id'));
      // It is awaited later, if at all.
      this.id.catch(() => {});
    };
    redis.on('ready', read);
    redis.on('close', () => {
      this.id = Promise.resolve(undefined);
    });
    if (redis.status === 'ready') read();
  }
}

function requireSame([writing, waiting]: readonly (string | undefined)[]): void {
  if (writing === undefined || writing !== waiting)
    throw new Error('Redis was just replaced by another server.');
}
