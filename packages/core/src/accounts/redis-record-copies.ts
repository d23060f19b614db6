import type { AccountId } from '../domain/account';
import type { RedisClient } from '../platform/redis-connect';

/** A record that nobody could make again: a value in Redis, or a field of a hash there. */
export interface CopiedRecord {
  readonly key: string;
  /** Absent: the value itself. */
  readonly field?: string;
  /** Whose it is: with its account it is erased. */
  readonly accountId: AccountId;
}

/** Makes a change of a record, and copies it to where Redis can't lose it. */
export interface RecordCopies {
  /** @throws AppError `storage_unavailable`: it may not be made, or not be copied. Repeat it. */
  replace<Reply>(record: CopiedRecord, change: () => Promise<Reply>): Promise<Reply>;
  /** The same for a change that removes it. */
  remove<Reply>(record: CopiedRecord, change: () => Promise<Reply>): Promise<Reply>;
}

const kept = new WeakMap<RedisClient, RecordCopies>();

/** From now on all changes by this client are copied. */
export function keepCopies(redis: RedisClient, copies: RecordCopies): void {
  kept.set(redis, copies);
}

/** Every change of such a record by a store goes through here. Without a copy it is only made. */
export async function replaceCopied<Reply>(
  redis: RedisClient,
  record: CopiedRecord,
  change: () => Promise<Reply>,
): Promise<Reply> {
  const copies = kept.get(redis);
  return copies ? await copies.replace(record, change) : await change();
}

/** The same for a change that removes it. */
export async function removeCopied<Reply>(
  redis: RedisClient,
  record: CopiedRecord,
  change: () => Promise<Reply>,
): Promise<Reply> {
  const copies = kept.get(redis);
  return copies ? await copies.remove(record, change) : await change();
}
