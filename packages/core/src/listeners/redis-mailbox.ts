import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { keys } from '../domain/keys';
import type { Emit } from '../domain/signal';
import { type ConnectOptions, connectRedis, type RedisClient } from '../platform/redis-connect';

export interface RedisMailboxOptions {
  readonly redis: RedisClient;
  /** For a connection only for reading, since that waits. */
  readonly connection: ConnectOptions;
  readonly emit: Emit;
}

type OnMessage = (message: string) => void;

const ADDRESS_BYTES = 9;
const READ_PATIENCE_S = 2;
const READ_AT_ONCE = 100;
/** A reading connection without a reply for this long is dead. */
const SILENCE_MS = 10_000;
// A connection that was used a moment ago will be needed again.
const IDLE_MS = 30_000;
const AFTER_FAULT_MS = 500;
/** A message to a process that is gone. */
const KEPT_MS = 60_000;

/**
 * Messages from process to process, over lists in Redis: any process can write to any other, in a Cluster as
 * well. Reading takes a connection of its own, which exists only while a message is expected. A message may
 * be lost together with either process; callers that wait for a reply wait with a bound.
 */
export class RedisMailbox {
  /** The address of this process. */
  readonly address = randomBytes(ADDRESS_BYTES).toString('hex');
  #onMessage: OnMessage = () => {};
  #expected = 0;
  #idleSince = 0;
  #isClosed = false;
  #reading: Promise<void> | undefined;

  constructor(private readonly options: RedisMailboxOptions) {}

  /** Set the handler of messages. */
  deliverTo(onMessage: OnMessage): void {
    this.#onMessage = onMessage;
  }

  /** Read from now on, until the returned function is called. */
  expect(): () => void {
    this.#expected += 1;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return () => {
      this.#expected -= 1;
      this.#idleSince = performance.now();
    };
  }

  async post(address: string, message: string): Promise<void> {
    const key = keys.mailbox(address);
    await this.options.redis.multi().rpush(key, message).pexpire(key, KEPT_MS).exec();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#reading;
  }

  async #read(): Promise<void> {
    const { name, ...options } = this.options.connection;
    const own = { role: 'working', name: `${name}-mailbox` } as const;
    const connection = connectRedis({ silenceMs: SILENCE_MS, ...options, ...own });
    try {
      while (this.#isWanted()) await this.#readSome(connection);
    } finally {
      connection.disconnect();
    }
  }

  #isWanted(): boolean {
    if (this.#isClosed) return false;
    return this.#expected > 0 || performance.now() - this.#idleSince < IDLE_MS;
  }

  async #readSome(connection: RedisClient): Promise<void> {
    const key = keys.mailbox(this.address);
    try {
      const first = await connection.blpop(key, READ_PATIENCE_S);
      if (first === null) return;
      const others = (await connection.lpop(key, READ_AT_ONCE)) ?? [];
      for (const message of [first[1], ...others]) this.#onMessage(message);
    } catch (error) {
      this.options.emit({ name: 'task.failed', task: 'read the messages of listeners', error });
      await wait(AFTER_FAULT_MS);
    }
  }
}
