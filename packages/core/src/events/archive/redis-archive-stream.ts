import { ReplyError } from 'ioredis';
import { z } from 'zod';
import type { AccountId } from '../../domain/account';
import type { DeliveryParts } from '../../domain/delivery';
import { type AttemptedFact, type DeliveryStatus, encodeFact } from '../../domain/delivery-log';
import { keys } from '../../domain/keys';
import { type RedisClient, throwStorageErrors } from '../../platform/redis-connect';
import { defineScript } from '../../platform/redis-script';

/** A raw entry of the stream: names and values in turn. */
export interface StreamEntry {
  readonly id: string;
  readonly fields: readonly string[];
}

const GROUP = 'archivers';
const REASON = 'reason';

// KEYS: the stream. ARGV: the group, the entries.
const FORGET = defineScript(`
  redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, 2))
  return redis.call('XDEL', KEYS[1], unpack(ARGV, 2))`);

// KEYS: the stream, the stream of refused entries. ARGV: the group, the entry, its fields.
const PUT_ASIDE = defineScript(`
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
  if redis.call('XDEL', KEYS[1], ARGV[2]) == 0 then return 0 end
  redis.call('XADD', KEYS[2], '*', unpack(ARGV, 3))
  return 1`);

// A consumer that still holds entries must stay: they would be lost to the others with it. KEYS: the stream.
// ARGV: the group, the least time of silence, the only consumer to remove ('': any).
const REMOVE_CONSUMERS = defineScript(`
  for _, flat in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
    local consumer = {}
    for i = 1, #flat, 2 do consumer[flat[i]] = flat[i + 1] end
    local is_meant = ARGV[3] == '' or ARGV[3] == consumer.name
    if is_meant and consumer.pending == 0 and consumer.idle >= tonumber(ARGV[2]) then
      redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], consumer.name)
    end
  end`);

/**
 * Attempts that wait to be archived. Each worker may take some. They stay until it confirms that they are in
 * the archive, and when it dies before that, another one takes them over. Nothing is ever trimmed.
 */
export class ArchiveStream {
  readonly #stream = keys.attemptsToArchive;

  constructor(private readonly redis: RedisClient) {}

  async add(record: ArchiveRecord): Promise<void> {
    await this.redis.xadd(this.#stream, '*', ...toFields(record));
  }

  /** Idempotent. The group starts at the beginning: entries of the stream are not archived yet. */
  async createGroup(): Promise<void> {
    await this.redis.xgroup('CREATE', this.#stream, GROUP, '0', 'MKSTREAM').catch(unlessItExists);
  }

  /**
   * Take entries that no archiver has taken yet, and wait for some if there are none. Needs a connection of
   * its own, which it blocks.
   */
  async takeNew(consumer: string, count: number, patienceMs: number): Promise<readonly StreamEntry[]> {
    const options = ['COUNT', count, 'BLOCK', patienceMs, 'STREAMS', this.#stream, '>'] as const;
    const reply = await this.redis.xreadgroup('GROUP', GROUP, consumer, ...options);
    return takenSchema.parse(reply ?? []).flatMap(([, entries]) => entries);
  }

  /** Take entries that others took so long ago that they must be dead. */
  async takeOver(consumer: string, count: number, idleMs: number): Promise<readonly StreamEntry[]> {
    const reply = await this.redis.xautoclaim(this.#stream, GROUP, consumer, idleMs, '0', 'COUNT', count);
    return takenOverSchema.parse(reply)[1].filter((entry) => entry !== undefined);
  }

  /**
   * Remove archived entries. Gives how many were still there: not those that another worker removed first.
   */
  async forget(ids: readonly string[]): Promise<number> {
    return Number(await FORGET(this.redis, [this.#stream], [GROUP, ...ids]));
  }

  /**
   * Move an entry that no archive will accept aside, for people to read. Gives whether it was still there.
   */
  async putAside({ id, fields }: StreamEntry, reason: string): Promise<boolean> {
    const aside = keys.attemptsNotArchived;
    return (await PUT_ASIDE(this.redis, [this.#stream, aside], [GROUP, id, ...fields, REASON, reason])) === 1;
  }

  /** Remove consumers that hold nothing: the named one, or all that were silent for this long. */
  async removeConsumers(silentMs: number, only = ''): Promise<void> {
    await REMOVE_CONSUMERS(this.redis, [this.#stream], [GROUP, silentMs, only]);
  }

  async count(): Promise<number> {
    return await this.redis.xlen(this.#stream);
  }

  /** The number of entries that were put aside. */
  async countAside(): Promise<number> {
    return await this.redis.xlen(keys.attemptsNotArchived);
  }
}

throwStorageErrors(ArchiveStream);

const entrySchema = z
  .tuple([z.string(), z.array(z.string())])
  .transform(([id, fields]): StreamEntry => ({ id, fields }));
const takenSchema = z.array(z.tuple([z.string(), z.array(entrySchema)]));
// Before Redis 7, a deleted entry appears as null.
const goneSchema = z.null().transform(() => undefined);
const takenOverSchema = z.tuple([z.string(), z.array(z.union([entrySchema, goneSchema]))], z.unknown());

function toFields({ accountId, eventId, endpointId, type, acceptedAt, status, fact }: ArchiveRecord) {
  return [
    ...['account', accountId, 'event', eventId, 'endpoint', endpointId, 'type', type],
    ...['accepted', String(acceptedAt), 'status', status, 'attempt', encodeFact(fact)],
  ];
}

function unlessItExists(error: unknown): void {
  if (error instanceof ReplyError && (error as Error).message.startsWith('BUSYGROUP')) return;
  throw error;
}

/** An attempt on its way to the archive. */
export interface ArchiveRecord extends DeliveryParts {
  readonly accountId: AccountId;
  readonly type: string;
  /** When its event was accepted. Milliseconds since the Unix epoch. */
  readonly acceptedAt: number;
  /** The delivery's status after this attempt. */
  readonly status: DeliveryStatus;
  /** As it is in the delivery's log. */
  readonly fact: AttemptedFact;
}
