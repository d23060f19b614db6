import { eventJobId } from '@hookferry/producer/contract';
import type { AccountId } from '../domain/account';
import type { AcceptedEvent } from '../domain/event';
import { queueKeysOf } from '../domain/keys';
import { EVENTS_QUEUE, type QueueShard, type QueueShards } from '../domain/queues';
import type { RedisClient } from '../platform/redis-connect';
import type { Guard } from '../platform/redis-lua';
import { shardsOfAccount } from './bullmq-event-queue';
import { createJobKeys } from './bullmq-layout';
import { guardOldest } from './bullmq-oldest-events.script';
import { PerShard } from './per-shard';

// From the last one that was put back. An entry is removed when its job is done, so this is for removed jobs.
const PUT_BACK_KEPT_MS = 86_400_000;

export interface PutBackJob {
  readonly id: string;
  /** Absent: it names none, and no account waits for it. */
  readonly accountId: AccountId | undefined;
  /** Milliseconds since 1970. */
  readonly addedAt: number;
}

type AskedEvent = Pick<AcceptedEvent, 'accountId' | 'id' | 'acceptedAt'>;

/** The events of any shard that are not fanned out yet, for deliveries in the order of acceptance. */
export class OldestEvents {
  readonly #shards = new PerShard(openShard);

  constructor(
    private readonly redis: RedisClient,
    private readonly shards: QueueShards,
  ) {}

  /** Whether an event of the account that was accepted before this one may still bring deliveries. */
  async hasOlder(event: AskedEvent): Promise<boolean> {
    const asked = this.guardsOldest(event).map((guard) => guard(this.redis));
    return (await Promise.all(asked)).includes(false);
  }

  /** Guards: what comes after them runs only if there is no such event. */
  guardsOldest({ accountId, id, acceptedAt }: AskedEvent): readonly Guard<boolean>[] {
    const shards = this.#shards.inEach(shardsOfAccount(this.shards, accountId));
    const asked = { account: accountId, event: id, acceptedAt, ownJob: eventJobId(accountId, id) };
    return shards.map(({ base }) => guardOldest({ base, ...asked }));
  }

  /** Call it before an event's job is put back with a delay. */
  async notePutBack(shard: QueueShard, { id, accountId, addedAt }: PutBackJob): Promise<void> {
    if (accountId === undefined) return;
    const putBack = this.#shards.in(shard).putBackOf(accountId);
    await Promise.all([this.redis.zadd(putBack, addedAt, id), this.redis.pexpire(putBack, PUT_BACK_KEPT_MS)]);
  }

  /** Call it once such a job is done. */
  async forgetPutBack(shard: QueueShard, { id, accountId }: Omit<PutBackJob, 'addedAt'>): Promise<void> {
    if (accountId !== undefined) await this.redis.zrem(this.#shards.in(shard).putBackOf(accountId), id);
  }
}

function openShard(prefix: string) {
  return { base: createJobKeys(prefix, EVENTS_QUEUE).base, putBackOf: queueKeysOf(prefix).putBackEvents };
}
