import { z } from 'zod';
import { type AccountId, accountIdSchema } from '../domain/account';
import {
  type Notification,
  type NotificationId,
  notificationIdSchema,
  notificationSchema,
} from '../domain/contact';
import { keys } from '../domain/keys';
import { type Atomic, createAtomic } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript } from '../platform/redis-script';
import { readNewestFirst } from '../platform/redis-timeline';

/** The newest of an account are kept, and those that are still to be sent. */
const MAX_KEPT = 1_000;
/** Longer than a look at an account takes. After this time another worker looks, if this one died. */
export const LOOK_CLAIM_MS = 60_000;

/** An account that one worker looks at now. */
export interface ClaimedAccount {
  readonly accountId: AccountId;
  /** Until then no other one does. Milliseconds since the Unix epoch. */
  readonly claimedUntil: number;
}

// KEYS: contact accounts. ARGV: now, how many, until when they are claimed.
const CLAIM_ACCOUNTS = defineScript(`
  local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
  for _, account in ipairs(due) do redis.call('ZADD', KEYS[1], ARGV[3], account) end
  return due`);

// Somebody who has asked for a look meanwhile gets it. KEYS: contact accounts. ARGV: account, until when it was
// claimed, when the next look is due ('': never).
const END_LOOK = defineScript(`
  if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or '0') ~= tonumber(ARGV[2]) then return end
  if ARGV[3] == '' then redis.call('ZREM', KEYS[1], ARGV[1]) else redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1]) end`);

// Nothing of it twice: what was told has a version, and who has read an older one starts again. Nothing
// without contacts either: their account may be erased by now. KEYS: told, notifications, notification ids, due,
// contacts. ARGV: version, JSON of what changes, how many are kept.
const TELL = defineScript(`
  if redis.call('EXISTS', KEYS[5]) == 0 then return 0 end
  if (redis.call('HGET', KEYS[1], 'version') or '0') ~= ARGV[1] then return 0 end
  local changes = cjson.decode(ARGV[2])
  for _, field in ipairs(changes.del) do redis.call('HDEL', KEYS[1], field) end
  for _, pair in ipairs(changes.set) do redis.call('HSET', KEYS[1], pair[1], pair[2]) end
  redis.call('HINCRBY', KEYS[1], 'version', 1)
  for _, each in ipairs(changes.add) do
    redis.call('HSET', KEYS[2], each[1], each[2])
    redis.call('ZADD', KEYS[3], 0, each[1])
    redis.call('ZADD', KEYS[4], each[3], each[1])
  end
  for _, id in ipairs(redis.call('ZRANGE', KEYS[3], 0, -tonumber(ARGV[3]) - 1)) do
    if not redis.call('ZSCORE', KEYS[4], id) then
      redis.call('HDEL', KEYS[2], id)
      redis.call('ZREM', KEYS[3], id)
    end
  end
  return 1`);

// KEYS: due, notifications. ARGV: now, how many, until when they are claimed. Gives their records.
const CLAIM_DUE = defineScript(`
  local records = {}
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])) do
    local record = redis.call('HGET', KEYS[2], id)
    if record then
      redis.call('ZADD', KEYS[1], ARGV[3], id)
      table.insert(records, record)
    else
      redis.call('ZREM', KEYS[1], id)
    end
  end
  return records`);

// KEYS: due, notifications. ARGV: until when it was claimed, id, record, when it is due again ('': never).
const SETTLE = defineScript(`
  if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[2]) or '0') ~= tonumber(ARGV[1]) then return 0 end
  redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
  if ARGV[4] == '' then redis.call('ZREM', KEYS[1], ARGV[2]) else redis.call('ZADD', KEYS[1], ARGV[4], ARGV[2]) end
  return 1`);

/** The state that the contacts of an account got messages about, and its version. */
export interface Told {
  readonly version: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** A message to be sent, and when. */
export interface DueNotification {
  readonly notification: Notification;
  readonly dueAt: number;
}

export interface ToldChanges {
  readonly set: Readonly<Record<string, string>>;
  readonly del: readonly string[];
  readonly add: readonly DueNotification[];
}

/** Of all that are set. */
export type NotificationFilter = {
  readonly [Member in 'contactId' | 'topic' | 'status']?: Notification[Member] | undefined;
};

interface NotificationPage {
  readonly notifications: readonly Notification[];
  readonly nextCursor: NotificationId | undefined;
}

const accountIdsSchema = z.array(accountIdSchema);
const recordsSchema = z.array(z.string().transform((raw) => notificationSchema.parse(JSON.parse(raw))));

/** The messages to contacts, and what they were told. Any worker may send any: what is due is in Redis. */
export class NotificationStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly atomic: Atomic = createAtomic(redis),
  ) {}

  /** Claim accounts whose look is due. @param patienceMs how long it may wait to go along with other scripts. */
  async claimAccounts(now: number, most: number, patienceMs = 0): Promise<readonly ClaimedAccount[]> {
    const claimedUntil = now + LOOK_CLAIM_MS;
    let claimed: readonly AccountId[] = [];
    await this.atomic(
      [
        async (target) => {
          const found = await CLAIM_ACCOUNTS(target, [keys.contactAccounts], [now, most, claimedUntil]);
          claimed = accountIdsSchema.parse(found);
        },
      ],
      patienceMs,
    );
    return claimed.map((accountId) => ({ accountId, claimedUntil }));
  }

  /** @param nextAt `undefined`: the account has no contacts any more. */
  async endLook({ accountId, claimedUntil }: ClaimedAccount, nextAt: number | undefined): Promise<void> {
    await END_LOOK(this.redis, [keys.contactAccounts], [accountId, claimedUntil, nextAt ?? '']);
  }

  async readTold(accountId: AccountId): Promise<Told> {
    const { version = '0', ...fields } = await this.redis.hgetall(keys.told(accountId));
    return { version, fields };
  }

  async forgetTold(accountId: AccountId): Promise<void> {
    await this.redis.unlink(keys.told(accountId));
  }

  /** Store the new state together with its messages: all or nothing. @returns whether they were stored. */
  async tell(accountId: AccountId, { version }: Told, { set, del, add }: ToldChanges): Promise<boolean> {
    const added = add.map(({ notification, dueAt }) => [
      notification.id,
      JSON.stringify(notification),
      String(dueAt),
    ]);
    const changes = JSON.stringify({ set: Object.entries(set), del, add: added });
    return (await TELL(this.redis, toldKeysOf(accountId), [version, changes, MAX_KEPT])) === 1;
  }

  /** Messages that are due, for one caller. They are due again later, in case the caller dies. */
  async claimDue(
    accountId: AccountId,
    now: number,
    claimedUntil: number,
    most: number,
  ): Promise<readonly Notification[]> {
    const dueKeys = [keys.notificationsDue(accountId), keys.notifications(accountId)];
    return recordsSchema.parse(await CLAIM_DUE(this.redis, dueKeys, [now, most, claimedUntil]));
  }

  /** Record the result of a message, unless another process has claimed it since. @param nextAt when it is sent again. */
  async settle(
    accountId: AccountId,
    notification: Notification,
    claimedUntil: number,
    nextAt: number | undefined,
  ): Promise<void> {
    const dueKeys = [keys.notificationsDue(accountId), keys.notifications(accountId)];
    const args = [claimedUntil, notification.id, JSON.stringify(notification), nextAt ?? ''];
    await SETTLE(this.redis, dueKeys, args);
  }

  /** When the next message is due; `undefined`: there is none. */
  async nextDue(accountId: AccountId): Promise<number | undefined> {
    const [, score] = await this.redis.zrange(keys.notificationsDue(accountId), '0', '0', 'WITHSCORES');
    return score === undefined ? undefined : Number(score);
  }

  /** Newest first; `before` is the `nextCursor` of the page before. All that are kept may be looked at for a page. */
  async list(
    accountId: AccountId,
    limit: number,
    before?: NotificationId,
    filter: NotificationFilter = {},
  ): Promise<NotificationPage> {
    const notifications: Notification[] = [];
    let cursor = before;
    do {
      const page = await this.#read(accountId, limit - notifications.length, cursor);
      notifications.push(...page.notifications.filter((each) => matches(each, filter)));
      cursor = page.nextCursor;
    } while (cursor !== undefined && notifications.length < limit);
    return { notifications, nextCursor: cursor };
  }

  async #read(accountId: AccountId, limit: number, before?: NotificationId): Promise<NotificationPage> {
    const key = keys.notificationIds(accountId);
    const { members, nextCursor } = await readNewestFirst(this.redis, key, limit, before);
    const raws =
      members.length === 0 ? [] : await this.redis.hmget(keys.notifications(accountId), ...members);
    const notifications = recordsSchema.parse(raws.filter((raw) => raw !== null));
    return { notifications, nextCursor: notificationIdSchema.optional().parse(nextCursor) };
  }
}

function matches(notification: Notification, { contactId, topic, status }: NotificationFilter): boolean {
  return (
    (contactId === undefined || notification.contactId === contactId) &&
    (topic === undefined || notification.topic === topic) &&
    (status === undefined || notification.status === status)
  );
}

function toldKeysOf(accountId: AccountId): string[] {
  return [
    keys.told(accountId),
    keys.notifications(accountId),
    keys.notificationIds(accountId),
    keys.notificationsDue(accountId),
    keys.contacts(accountId),
  ];
}
