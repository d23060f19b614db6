import { eventJobId } from '@hookferry/producer/contract';
import { z } from 'zod';
import { eventTypeNameSchema } from '../catalogue/custom-event-type';
import { parsedOrUndefined } from '../kernel/json';
import { storageUnavailable } from '../kernel/redis-errors';
import { defineScript } from '../kernel/redis-script';
import type { QueuedEvents } from '../manage/erase-payload';
import type { AccountId, EventId } from '../model/event';
import { EVENTS_QUEUE } from '../model/queue-names';
import type { EventHead } from '../record/redis-event-store';
import { createJobKeys, type JobKeys, jobFields } from './bullmq-layout';
import type { QueueConnection } from './bullmq-open-queue';
import { type AcceptedEventJob, acceptedEventSchema, publishedEventSchema } from './event-job';

// KEYS: job. ARGV: its new data. A job that has ended meanwhile must not come back as a torso.
const REPLACE_DATA = defineScript(`
  if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], '${jobFields.data}', ARGV[1]) end`);

/** Looks into the events queue for events by their ids. A producer's event that has another job id is not found there. */
export class BullmqQueuedEvents implements QueuedEvents {
  readonly #keys: JobKeys;

  constructor(private readonly connection: QueueConnection) {
    this.#keys = createJobKeys(connection.prefix, EVENTS_QUEUE);
  }

  async find(accountId: AccountId, id: EventId): Promise<EventHead | undefined> {
    const { name, timestamp, data } = jobFields;
    const job = await this.#reach((redis, key) => redis.hmget(key, name, timestamp, data), accountId, id);
    return headOf(job, accountId, id);
  }

  async empty(accountId: AccountId, id: EventId, { acceptedAt }: EventHead): Promise<void> {
    const data: AcceptedEventJob = {
      account_id: accountId,
      id,
      body: '',
      accepted_at: acceptedAt,
      webhook_ids: [],
    };
    await this.#reach((redis, key) => REPLACE_DATA(redis, [key], [JSON.stringify(data)]), accountId, id);
  }

  async #reach<T>(
    command: (redis: QueueConnection['redis'], key: string) => Promise<T>,
    accountId: AccountId,
    id: EventId,
  ): Promise<T> {
    try {
      return await command(this.connection.redis, this.#keys.job(eventJobId(accountId, id)));
    } catch (error) {
      throw storageUnavailable(error);
    }
  }
}

const jobSchema = z.tuple([eventTypeNameSchema, z.coerce.number(), z.string()]);

// What a producer has pushed was not checked by anybody yet; what is no event will be refused, and is none here either.
function headOf(stored: unknown, accountId: AccountId, id: EventId): EventHead | undefined {
  const job = jobSchema.safeParse(stored);
  if (!job.success) return undefined;
  const [type, timestamp, text] = job.data;
  const parsed = z.union([acceptedEventSchema, publishedEventSchema]).safeParse(parsedOrUndefined(text));
  if (!parsed.success || parsed.data.account_id !== accountId || parsed.data.id !== id) return undefined;
  const acceptedAt = 'accepted_at' in parsed.data ? parsed.data.accepted_at : timestamp;
  return { type, acceptedAt, isAimed: parsed.data.webhook_ids !== undefined };
}
