import { accountOfPause } from '../accounts/redis-pause-store';
import type { CopiedRecord, RecordCopies } from '../accounts/redis-record-copies';
import { type AccountId, DEFAULT_ACCOUNT } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import { keys } from '../domain/keys';
import type { Emit } from '../domain/signal';
import { isVersion } from '../endpoints/redis-transformation-store';
import type { PgRecordCopies, RecordCopy } from '../history/database/pg-record-copies';
import { AppError } from '../platform/app-error';
import type { RedisClient } from '../platform/redis-connect';
import { idOfMember, pagesNewestFirst } from '../platform/redis-timeline';
import { settledWithin, WakeUpTimer } from '../platform/timers';

export interface ConfigurationCopyParts {
  readonly redis: RedisClient;
  readonly pgRecordCopies: PgRecordCopies;
  /**
   * While PostgreSQL is away, a change is `refused` where somebody waits for its confirmation. Otherwise it is made, and
   * copied `later`.
   */
  readonly whenAway: 'refused' | 'later';
  readonly emit: Emit;
}

const RETRY_AFTER_MS = 5_000;
const AT_ONCE = 200;
const FILL_EVERY_MS = 3_600_000;
const STOP_PATIENCE_MS = 1_000;

/**
 * Copies in PostgreSQL of what is configured in Redis: so that a Redis that is lost can be filled again. A change, and the
 * copying of what Redis has then, happen under a lock of PostgreSQL for that record: of two changes the copy is the later one.
 *
 * A process may end after the change and before the copy: nobody was told that it was made. A removal is noted before it
 * is made, so that what its caller may take for removed never comes back.
 */
export class ConfigurationCopy implements RecordCopies {
  /** Changed, and not copied yet. */
  readonly #missed = new Map<string, MissedCopy>();
  readonly #timer = new WakeUpTimer(() => this.#copyMissed());
  readonly #filling = new WakeUpTimer(() => this.#fillAndGoOn());

  constructor(private readonly parts: ConfigurationCopyParts) {}

  async replace<Reply>(record: CopiedRecord, change: () => Promise<Reply>): Promise<Reply> {
    return await this.#change({ ...record, isRemoved: false }, change);
  }

  async #change<Reply>(record: MissedCopy, change: () => Promise<Reply>): Promise<Reply> {
    let made: { readonly reply: Reply } | undefined;
    let failure: { readonly error: unknown } | undefined;
    const make = async () => {
      try {
        made = { reply: await change() };
        return made.reply;
      } catch (error) {
        failure = { error };
        throw error;
      }
    };
    try {
      return await this.#changeLocked(record, make);
    } catch (error) {
      if (failure) throw failure.error;
      if (error instanceof AppError) throw error;
      if (this.parts.whenAway === 'refused') throw notCopied(error);
      this.parts.emit({ name: 'task.failed', task: 'copy the configuration', error });
      this.#missed.set(`${record.key} ${record.field}`, record);
      this.#timer.wakeUpIn(RETRY_AFTER_MS);
      return made ? made.reply : await change();
    }
  }

  async remove<Reply>(record: CopiedRecord, change: () => Promise<Reply>): Promise<Reply> {
    const removed = { ...nameOf(record), accountId: record.accountId, value: undefined };
    await this.parts.pgRecordCopies.replace(removed).catch((error: unknown) => {
      // Otherwise the second try below is the one that tells.
      if (this.parts.whenAway === 'refused') throw notCopied(error);
    });
    return await this.#change({ ...record, isRemoved: true }, change);
  }

  /** Whether Redis should have it. */
  async has(record: Pick<CopiedRecord, 'key' | 'field'>): Promise<boolean> {
    return await this.parts.pgRecordCopies.has(nameOf(record));
  }

  /** Forget all of an account but the account's own record. */
  async eraseAccount(accountId: AccountId): Promise<void> {
    await this.parts.pgRecordCopies.eraseAccount(accountId, keys.accounts).catch((error: unknown) => {
      throw notCopied(error);
    });
  }

  /** Copy what has no copy yet: from before there were any. @returns how many. */
  async fill(): Promise<number> {
    const { pgRecordCopies } = this.parts;
    let added = 0;
    for await (const copies of this.#readAll()) {
      if (copies.length > 0) added += await pgRecordCopies.addMissing(copies);
    }
    await pgRecordCopies.forgetOld();
    return added;
  }

  /** Fill it now, and each hour. */
  start(): void {
    this.#filling.wakeUpIn(0);
  }

  async stop(): Promise<void> {
    await settledWithin(STOP_PATIENCE_MS, Promise.all([this.#timer.stop(), this.#filling.stop()]));
  }

  async #fillAndGoOn(): Promise<void> {
    try {
      await this.fill();
      this.#filling.wakeUpIn(FILL_EVERY_MS);
    } catch (error) {
      this.parts.emit({ name: 'task.failed', task: 'copy the configuration', error });
      this.#filling.wakeUpIn(RETRY_AFTER_MS);
    }
  }

  async #changeLocked<Reply>(record: MissedCopy, change: () => Promise<Reply>): Promise<Reply> {
    const name = nameOf(record);
    return await this.parts.pgRecordCopies.locked(name, async (found) => {
      const isLost = found?.value !== undefined && (await readRecord(this.parts.redis, record)) === null;
      if (isLost && !record.isRemoved) throw beingBroughtBack();
      const reply = await change();
      const value = await readRecord(this.parts.redis, record);
      // A record that Redis has lost was not removed.
      if (value === null && found?.value !== undefined && !record.isRemoved) return { reply };
      return { reply, copy: { ...name, accountId: record.accountId, value: value ?? undefined } };
    });
  }

  async #copyMissed(): Promise<void> {
    for (const [name, record] of this.#missed) {
      try {
        await this.#changeLocked(record, async () => {});
        this.#missed.delete(name);
      } catch {
        // It was told when it failed first.
        return this.#timer.wakeUpIn(RETRY_AFTER_MS);
      }
    }
  }

  async *#readAll(): AsyncGenerator<readonly RecordCopy[]> {
    const { redis } = this.parts;
    yield await this.#readHash(keys.eventTypes, () => DEFAULT_ACCOUNT);
    yield await this.#readHash(keys.pauses, accountOfPause);
    for await (const members of pagesNewestFirst(redis, keys.accountIds, AT_ONCE)) {
      const ids = members.map(idOfMember) as AccountId[];
      const records = await redis.hmget(keys.accounts, ...ids);
      yield ids.flatMap((id, i) => copiesOf(keys.accounts, id, id, records[i]));
      for (const id of ids) yield* this.#readAccount(id);
    }
  }

  async *#readAccount(accountId: AccountId): AsyncGenerator<readonly RecordCopy[]> {
    const { redis } = this.parts;
    const signingKeys = await redis.get(keys.signingKeys(accountId));
    yield copiesOf(keys.signingKeys(accountId), '', accountId, signingKeys);
    yield await this.#readHash(keys.contacts(accountId), () => accountId);
    const endpoints = keys.endpoints(accountId);
    for await (const ids of pagesNewestFirst(redis, keys.endpointIds(accountId), AT_ONCE)) {
      const records = await redis.hmget(endpoints, ...ids);
      yield ids.flatMap((id, i) => copiesOf(endpoints, id, accountId, records[i]));
      for (const id of ids) {
        const copies = await this.#readHash(keys.transformations(id as EndpointId), () => accountId);
        yield copies.filter(({ field }) => isVersion(field));
      }
    }
    for await (const members of pagesNewestFirst(redis, keys.apiKeyIds(accountId), AT_ONCE)) {
      const own = members.map((member) => keys.apiKey(idOfMember(member)));
      const records = await Promise.all(own.map((key) => redis.get(key)));
      yield own.flatMap((key, i) => copiesOf(key, '', accountId, records[i]));
    }
  }

  async #readHash(key: string, ownerOf: (field: string) => AccountId): Promise<readonly RecordCopy[]> {
    const fields = Object.entries(await this.parts.redis.hgetall(key));
    return fields.flatMap(([field, value]) => copiesOf(key, field, ownerOf(field), value));
  }
}

interface MissedCopy extends CopiedRecord {
  readonly isRemoved: boolean;
}

function nameOf({ key, field = '' }: Pick<CopiedRecord, 'key' | 'field'>) {
  return { key, field };
}

function copiesOf(
  key: string,
  field: string,
  accountId: AccountId,
  value: string | null | undefined,
): readonly RecordCopy[] {
  return value == null ? [] : [{ key, field, accountId, value }];
}

export async function readRecord(
  redis: RedisClient,
  { key, field }: Pick<CopiedRecord, 'key' | 'field'>,
): Promise<string | null> {
  return field === undefined || field === '' ? await redis.get(key) : await redis.hget(key, field);
}

/** Redis lacks a record that was not removed. */
function beingBroughtBack(): AppError {
  const detail = 'Redis has lost data, and gets them back. Try again in a moment.';
  return new AppError('storage_unavailable', detail, { retryAfterMs: RETRY_AFTER_MS });
}

function notCopied(cause: unknown): AppError {
  const detail = 'PostgreSQL can take no copy of the change at the moment. Repeat the request.';
  return new AppError('storage_unavailable', detail, { retryAfterMs: RETRY_AFTER_MS, cause });
}
