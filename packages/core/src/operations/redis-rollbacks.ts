import { Cluster, type Redis, ReplyError } from 'ioredis';
import { keys } from '../domain/keys';
import type { RedisLoss } from '../history/database/pg-witness';
import type { Atomic } from '../platform/redis-atomic';
import { keysOfMasters, mastersOf, type RedisClient } from '../platform/redis-connect';
import { fieldOf } from '../platform/redis-safety';
import {
  type CountEpochInput,
  type CountEpochReply,
  countEpoch,
  settleEpoch,
} from './redis-rollbacks.script';

/** The epoch of a server. */
export interface ServerEpoch {
  /** Its key. */
  readonly epoch: string;
  /** Another one: another process of Redis serves, or its data have another history. `undefined`: it does not tell this user. */
  readonly name: string | undefined;
}

export type Rollback = Pick<RedisLoss, 'since' | 'until'>;

const MOST_LISTED = 10;
// Before the time, so that those of one server differ.
const UNKNOWN = '';

/**
 * The epoch is a number in Redis that grows each second: if it is smaller than somebody has seen it, Redis has gone back to
 * an earlier state. Beside it is when it grew last. Each master of a Cluster has one.
 */
export class RollbackStore {
  readonly #servers = new WeakMap<Redis, Promise<string | undefined>>();
  readonly #heard = new WeakSet<Redis>();

  constructor(
    private readonly redis: RedisClient,
    private readonly atomic: Atomic,
  ) {}

  /** Of each server that holds keys: the key of its epoch, and a name of the server and of its data, if it tells this user. */
  async readServers(): Promise<readonly ServerEpoch[]> {
    const masters = mastersOf(this.redis);
    if (!(this.redis instanceof Cluster))
      return [{ epoch: keys.epoch(0), name: await this.#nameOf(this.redis) }];
    const found = [...keysOfMasters(this.redis, keys.epoch)].map(async ([address, epoch]) => {
      const server = masters.get(address);
      return server === undefined ? [] : [{ epoch, name: await this.#nameOf(server) }];
    });
    return (await Promise.all(found)).flat();
  }

  /** @param patienceMs how long it may wait to go to Redis together with other scripts. */
  async count(input: CountEpochInput, patienceMs: number): Promise<CountEpochReply> {
    const [reply] = await this.atomic([countEpoch(input)], patienceMs);
    return reply;
  }

  /**
   * Record that Redis went back. Repeating it is harmless.
   *
   * @param number of its epoch, by which that was known. @param known the newest one that was seen.
   * @returns whether nobody else has done so.
   */
  async settle({ epoch, since, until }: RedisLoss, number: number, known: number): Promise<boolean> {
    await this.redis.zadd(keys.rollbacks, until, `${epoch} ${since ?? UNKNOWN}`);
    await this.redis.zremrangebyrank(keys.rollbacks, 0, -1 - MOST_LISTED);
    return await settleEpoch({ epoch, before: number, known })(this.redis);
  }

  /** The newest first. */
  async list(): Promise<readonly Rollback[]> {
    const flat = await this.redis.zrevrange(keys.rollbacks, 0, -1, 'WITHSCORES');
    return Array.from({ length: flat.length / 2 }, (_, i) => {
      const since = flat[2 * i]?.split(' ')[1] ?? UNKNOWN;
      return { since: since === UNKNOWN ? undefined : Number(since), until: Number(flat[2 * i + 1]) };
    });
  }

  async #nameOf(server: Redis): Promise<string | undefined> {
    if (!this.#heard.has(server)) {
      this.#heard.add(server);
      // Another process may be behind the same address.
      server.on('ready', () => this.#servers.delete(server));
    }
    const name = this.#servers.get(server) ?? readName(server);
    this.#servers.set(server, name);
    name.catch(() => this.#servers.delete(server));
    return await name;
  }
}

async function readName(server: Redis): Promise<string | undefined> {
  try {
    const [own, replication] = await Promise.all([server.info('server'), server.info('replication')]);
    return `${fieldOf(own, 'run_id')} ${fieldOf(replication, 'master_replid')}`;
  } catch (error) {
    if (error instanceof ReplyError) return undefined;
    throw error;
  }
}
