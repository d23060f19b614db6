import { type AccountId, accountIdSchema, DEFAULT_ACCOUNT } from '../domain/account';
import type { Act } from '../domain/audit';
import { keys } from '../domain/keys';
import { type Pause, pauseOf, pauseSchema } from '../domain/pause';
import type { RedisClient } from '../platform/redis-connect';
import { makeChange } from './audit/redis-recorded-change';
import { notePause, noteResumption } from './redis-pause-store.script';
import { removeCopied, replaceCopied } from './redis-record-copies';

/** What an operator can pause: an account, or a queue by its name. */
export type PauseSubject =
  | { readonly kind: 'account'; readonly id: AccountId }
  | { readonly kind: 'queue'; readonly id: string };

export interface PausedAccount {
  readonly accountId: AccountId;
  readonly pause: Pause;
}

const ACCOUNTS = 'account:';
const QUEUES = 'queue:';
const FOUND_AT_ONCE = '100';

/** Who has paused an account or a queue, when, and why. What a pause does is done elsewhere: see `operations/`. */
export class PauseStore {
  constructor(private readonly redis: RedisClient) {}

  /**
   * One that is paused keeps its first pause.
   *
   * @returns whether it was not paused before. Only then the act is recorded.
   */
  async pause(subject: PauseSubject, reason: string | undefined, act: Act): Promise<boolean> {
    const pause = JSON.stringify(pauseOf(act, reason));
    const noted = notePause({ subject: fieldOf(subject), pause });
    const changes = reason === undefined ? [] : [{ field: 'reason', to: reason }];
    const recorded = { act, accountId: DEFAULT_ACCOUNT, targetId: subject.id, changes };
    return await replaceCopied(this.redis, copiedOf(subject), () => makeChange(this.redis, noted, recorded));
  }

  /** @returns whether it was paused. Only then the act is recorded. */
  async resume(subject: PauseSubject, act: Act): Promise<boolean> {
    const noted = noteResumption({ subject: fieldOf(subject) });
    const recorded = { act, accountId: DEFAULT_ACCOUNT, targetId: subject.id };
    return await removeCopied(this.redis, copiedOf(subject), () => makeChange(this.redis, noted, recorded));
  }

  async find(subject: PauseSubject): Promise<Pause | undefined> {
    return parse(await this.redis.hget(keys.pauses, fieldOf(subject)));
  }

  /** In the order of the ids; `undefined`: that account is not paused. */
  async findOfAccounts(ids: readonly AccountId[]): Promise<readonly (Pause | undefined)[]> {
    if (ids.length === 0) return [];
    const fields = ids.map((id) => fieldOf({ kind: 'account', id }));
    return (await this.redis.hmget(keys.pauses, ...fields)).map(parse);
  }

  /** Paused accounts, at most about `most` of them, the last paused first. */
  async listAccounts(most: number): Promise<readonly PausedAccount[]> {
    const found = new Map<AccountId, Pause>();
    let cursor = '0';
    do {
      const [next, entries] = await this.redis.hscan(keys.pauses, cursor, 'COUNT', FOUND_AT_ONCE);
      for (let i = 0; i < entries.length; i += 2) {
        const id = accountIdSchema.safeParse(entries[i]?.slice(ACCOUNTS.length));
        const pause = parse(entries[i + 1] ?? null);
        if (entries[i]?.startsWith(ACCOUNTS) && id.success && pause) found.set(id.data, pause);
      }
      cursor = next;
    } while (cursor !== '0' && found.size < most);
    return [...found]
      .map(([accountId, pause]) => ({ accountId, pause }))
      .toSorted((one, other) => other.pause.at - one.pause.at)
      .slice(0, most);
  }

  /** Forget the pause of an account that is erased. */
  async forget(id: AccountId): Promise<void> {
    const copied = copiedOf({ kind: 'account', id });
    await removeCopied(this.redis, copied, () => this.redis.hdel(keys.pauses, copied.field));
  }
}

function fieldOf({ kind, id }: PauseSubject): string {
  return `${kind}:${id}`;
}

function copiedOf(subject: PauseSubject) {
  const field = fieldOf(subject);
  return { key: keys.pauses, field, accountId: accountOfPause(field) };
}

/** Whose a pause is, by its field: with that account it is forgotten. */
export function accountOfPause(field: string): AccountId {
  return field.startsWith(ACCOUNTS) ? (field.slice(ACCOUNTS.length) as AccountId) : DEFAULT_ACCOUNT;
}

/** The queue that a pause is of, by its field; `undefined`: it is of an account. */
export function queueOfPause(field: string): string | undefined {
  return field.startsWith(QUEUES) ? field.slice(QUEUES.length) : undefined;
}

function parse(raw: string | null): Pause | undefined {
  return raw === null ? undefined : pauseSchema.parse(JSON.parse(raw));
}
