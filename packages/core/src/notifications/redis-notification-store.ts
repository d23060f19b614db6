import { z } from 'zod';
import type { AccountId } from '../domain/account';
import {
  type Notification,
  type NotificationId,
  notificationIdSchema,
  notificationSchema,
} from '../domain/contact';
import { keys } from '../domain/keys';
import { type Atomic, createAtomic } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import { readNewestFirst } from '../platform/redis-timeline';
import {
  claimAccounts,
  claimDueNotifications,
  endLook,
  notify,
  updateNotification,
} from './redis-notification-store.script';

/** Longer than a look at an account takes. After this time another worker looks, if this one died. */
export const LOOK_CLAIM_MS = 60_000;

/** An account that one worker looks at now. */
export interface ClaimedAccount {
  readonly accountId: AccountId;
  /** Until then no other one does. Milliseconds since the Unix epoch. */
  readonly claimedUntil: number;
}

/** The state that the contacts of an account got messages about, and its version. */
export interface Notified {
  readonly version: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** A message to be sent, and when. */
export interface DueNotification {
  readonly notification: Notification;
  readonly dueAt: number;
}

export interface NotifiedChanges {
  readonly set: Readonly<Record<string, string>>;
  readonly del: readonly string[];
  readonly add: readonly DueNotification[];
}

/** Of all that are set. */
export type NotificationFilter = {
  readonly [Member in 'contactId' | 'topic' | 'status']?: Notification[Member] | undefined;
};

export interface NotificationPage {
  readonly notifications: readonly Notification[];
  readonly nextCursor: NotificationId | undefined;
}

const recordsSchema = z.array(z.string().transform((raw) => notificationSchema.parse(JSON.parse(raw))));

/** The messages to contacts, and what they were told. Any worker may send any: what is due is in Redis. */
export class NotificationStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly atomic: Atomic = createAtomic(redis),
  ) {}

  /** Claim accounts whose look is due. @param patienceMs how long it may wait to go together with other scripts. */
  async claimAccounts(now: number, most: number, patienceMs = 0): Promise<readonly ClaimedAccount[]> {
    const claimedUntil = now + LOOK_CLAIM_MS;
    const [claimed] = await this.atomic([claimAccounts({ now, most, claimedUntil })], patienceMs);
    return claimed.map((accountId) => ({ accountId, claimedUntil }));
  }

  /** @param nextAt `undefined`: the account has no contacts any more. */
  async endLook({ accountId, claimedUntil }: ClaimedAccount, nextAt: number | undefined): Promise<void> {
    await endLook({ account: accountId, claimedUntil, nextAt })(this.redis);
  }

  async readNotified(accountId: AccountId): Promise<Notified> {
    const { version = '0', ...fields } = await this.redis.hgetall(keys.notified(accountId));
    return { version, fields };
  }

  async forgetNotified(accountId: AccountId): Promise<void> {
    await this.redis.unlink(keys.notified(accountId));
  }

  /** Store the new state together with its messages: all or nothing. @returns whether they were stored. */
  async notify(
    accountId: AccountId,
    { version }: Notified,
    { set, del, add }: NotifiedChanges,
  ): Promise<boolean> {
    const notified = {
      account: accountId,
      version,
      cleared: del,
      fields: Object.entries(set).map(([name, value]) => ({ name, value })),
      added: add.map(({ notification, dueAt }) => ({
        id: notification.id,
        record: JSON.stringify(notification),
        dueAt,
      })),
    };
    return await notify(notified)(this.redis);
  }

  /** Messages that are due, for one caller. They are due again later, in case the caller dies. */
  async claimDue(
    accountId: AccountId,
    now: number,
    claimedUntil: number,
    most: number,
  ): Promise<readonly Notification[]> {
    const claimed = claimDueNotifications({ account: accountId, now, most, claimedUntil });
    return recordsSchema.parse(await claimed(this.redis));
  }

  /** Record the result of a message, unless another process has claimed it since. @param nextAt when it is sent again. */
  async update(
    accountId: AccountId,
    notification: Notification,
    claimedUntil: number,
    nextAt: number | undefined,
  ): Promise<void> {
    const record = JSON.stringify(notification);
    const updated = { account: accountId, claimedUntil, id: notification.id, record, nextAt };
    await updateNotification(updated)(this.redis);
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
