import type { AccountStore } from '../accounts/redis-account-store';
import type { AccountId } from '../domain/account';
import {
  type Contact,
  MOST_SUBJECTS,
  NOTIFICATION_ID_PREFIX,
  type Notification,
  type NotificationId,
  type NotificationTopic,
  type Subject,
} from '../domain/contact';
import type { Emit } from '../domain/signal';
import { hostOf } from '../domain/target-url';
import type { UnprovenRequests } from '../endpoints/verification/redis-unproven-requests';
import { ClaimedWork } from '../platform/claimed-work';
import type { Clock } from '../platform/clock';
import type { NewId } from '../platform/ids';
import { composeMessage, type MessageSettings } from './compose-message';
import {
  decideMessages,
  dueAtFor,
  isRequestField,
  type NotifiedFields,
  REQUESTED,
  rememberedIn,
  requestFieldOf,
  requestsOf,
  subjectsFor,
} from './decide-messages';
import type { SendOutcome } from './nodemailer-mailer';
import { type ObserverParts, observeAccount } from './observe-account';
import type { ContactStore } from './redis-contact-store';
import type {
  ClaimedAccount,
  DueNotification,
  NotificationStore,
  NotifiedChanges,
} from './redis-notification-store';
import { type SenderParts, sendNotification } from './send-notification';

export interface NotifierParts extends ObserverParts, SenderParts {
  readonly contactStore: ContactStore;
  readonly notificationStore: NotificationStore;
  readonly unprovenRequests: UnprovenRequests;
  readonly accountStore: Pick<AccountStore, 'find'>;
  /** Absent: messages could have no links, so there are none. */
  readonly messageSettings: MessageSettings | undefined;
  readonly newId: NewId;
  /** From 0 up to, not including, 1. */
  readonly random: () => number;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** Accounts that one process looks at at the same time. */
const AT_ONCE = 8;
/** How late something may be noticed. */
const LOOK_EVERY_MS = 15_000;
/** Of an account, in one look; the others follow at once. */
const DUE_AT_ONCE = 100;
/** Waits between the tries of a message. */
const RETRY_DELAYS_MS = [10_000, 60_000, 300_000, 1_800_000, 7_200_000, 21_600_000, 43_200_000];

/**
 * Tells contacts what happens to their webhooks.
 *
 * It looks at the state of each account that has contacts, compares it with what they were told, and writes both what
 * they are told and the messages in one step. So nothing that delivers waits for it or tells it anything, and nothing is
 * lost with a process: whoever looks next finds the same. Any worker may look at any account, one at a time.
 */
export class Notifier extends ClaimedWork<ClaimedAccount> {
  constructor(private readonly parts: NotifierParts) {
    super(AT_ONCE);
  }

  protected async claim(most: number, patienceMs: number): Promise<readonly ClaimedAccount[]> {
    const { notificationStore, clock } = this.parts;
    return await notificationStore.claimAccounts(clock(), most, patienceMs);
  }

  protected onFailure(error: unknown): void {
    this.parts.emit({ name: 'task.failed', task: 'notify contacts', error });
  }

  protected async work(claimed: ClaimedAccount): Promise<void> {
    const { contactStore, notificationStore, clock } = this.parts;
    const { accountId } = claimed;
    const contacts = await contactStore.list(accountId);
    await this.#notify(accountId, contacts);
    await this.#sendDue(claimed, contacts);
    const nextDue = await notificationStore.nextDue(accountId);
    if (contacts.length === 0 && nextDue === undefined) {
      await notificationStore.forgetNotified(accountId);
      await notificationStore.endLook(claimed, undefined);
    } else {
      const nextLook = clock() + LOOK_EVERY_MS;
      await notificationStore.endLook(claimed, Math.min(nextLook, nextDue ?? nextLook));
    }
  }

  async #notify(accountId: AccountId, contacts: readonly Contact[]): Promise<void> {
    const { notificationStore, emit } = this.parts;
    const notified = await notificationStore.readNotified(accountId);
    const changes = joined(
      this.#addRequested(contacts, notified.fields),
      await this.#decide(accountId, contacts, notified.fields),
    );
    if (changes.add.length + changes.del.length + Object.keys(changes.set).length === 0) return;
    // If somebody else was quicker, the next look decides again.
    if (!(await notificationStore.notify(accountId, notified, changes))) return;
    for (const { notification } of changes.add) {
      const { id, topic, kind } = notification;
      emit({ name: 'notification.queued', accountId, notificationId: id, kind, topic });
    }
  }

  /** The messages that somebody has requested: to confirm, or a test. */
  #addRequested(contacts: readonly Contact[], notified: NotifiedFields): NotifiedChanges {
    const requests = contacts.flatMap(requestsOf);
    const fresh = requests.filter(({ field, episode }) => notified[field] !== episode);
    const kept = new Set(contacts.flatMap(({ id }) => REQUESTED.map((topic) => requestFieldOf(topic, id))));
    const gone = Object.keys(notified).filter((field) => isRequestField(field) && !kept.has(field));
    const dueAt = this.parts.clock();
    return {
      set: Object.fromEntries(fresh.map(({ field, episode }) => [field, episode])),
      del: gone,
      add: fresh.map(({ contact, topic }) => ({ notification: this.#newOf(contact, topic, [{}]), dueAt })),
    };
  }

  async #decide(
    accountId: AccountId,
    contacts: readonly Contact[],
    notified: NotifiedFields,
  ): Promise<NotifiedChanges> {
    if (!contacts.some(({ status }) => status === 'confirmed')) return NOTHING;
    const { ratePolicy, clock } = this.parts;
    const remembered = rememberedIn(notified, ratePolicy, clock());
    const observed = await observeAccount(this.parts, accountId, remembered);
    const now = clock();
    const { set, del, messages } = decideMessages(observed, notified, now);
    const add = messages.flatMap((message) =>
      contacts.flatMap((contact): DueNotification[] => {
        const subjects = subjectsFor(contact, message);
        if (subjects.length === 0) return [];
        const notification = this.#newOf(contact, message.occasion, subjects);
        return [{ notification, dueAt: dueAtFor(contact, now) }];
      }),
    );
    return { set, del, add };
  }

  #newOf({ id, kind }: Contact, topic: NotificationTopic, subjects: readonly Subject[]): Notification {
    return {
      id: this.parts.newId(NOTIFICATION_ID_PREFIX) as NotificationId,
      contactId: id,
      kind,
      topic,
      subjects: subjects.slice(0, MOST_SUBJECTS),
      ...(subjects.length > MOST_SUBJECTS ? { subjectCount: subjects.length } : {}),
      status: 'pending',
      attempts: 0,
      createdAt: this.parts.clock(),
    };
  }

  async #sendDue({ accountId, claimedUntil }: ClaimedAccount, contacts: readonly Contact[]): Promise<void> {
    const { notificationStore, clock } = this.parts;
    const due = await notificationStore.claimDue(accountId, clock(), claimedUntil, DUE_AT_ONCE);
    await Promise.all(
      byContact(due).map(async (together) => {
        const contact = contacts.find(({ id }) => id === together[0]?.contactId);
        const waitMs = await this.#takeRequest(contact);
        if (waitMs > 0) return await this.#postpone(accountId, together, waitMs, claimedUntil);
        const outcome = await this.#sendTo(contact, together);
        if (outcome === 'broken off') return;
        for (const notification of together)
          await this.#recordResult(accountId, notification, outcome, claimedUntil);
      }),
    );
  }

  /** A URL that has not confirmed may be anybody's. @returns how long its host has to be left alone, in milliseconds. */
  async #takeRequest(contact: Contact | undefined): Promise<number> {
    if (contact?.status !== 'unconfirmed' || contact.kind === 'email') return 0;
    return await this.parts.unprovenRequests.take(contact.accountId, hostOf(new URL(contact.target)));
  }

  /** This is no try. They come at random times, so that all contacts that wait have the same chance. */
  async #postpone(
    accountId: AccountId,
    together: readonly Notification[],
    waitMs: number,
    claimedUntil: number,
  ): Promise<void> {
    const { notificationStore, random, clock } = this.parts;
    const nextAt = clock() + Math.ceil(waitMs * (1 + random()));
    for (const notification of together) {
      await notificationStore.update(accountId, notification, claimedUntil, nextAt);
    }
  }

  /** All due notifications of a contact go in one message. */
  async #sendTo(
    contact: Contact | undefined,
    together: readonly Notification[],
  ): Promise<SendOutcome | 'unwanted' | 'broken off'> {
    const { messageSettings, accountStore } = this.parts;
    const [first] = together;
    const wanted = first?.topic === 'confirmation' ? 'unconfirmed' : 'confirmed';
    if (contact?.status !== wanted || first === undefined) return 'unwanted';
    if (messageSettings === undefined) return { kind: 'failed', error: 'no PUBLIC_URL', isForGood: false };
    const account = await accountStore.find(contact.accountId);
    const message = composeMessage(messageSettings, account, contact, together);
    const signal = this.stopSignal;
    const outcome = await sendNotification(this.parts, contact, message, first.id, signal);
    return outcome.kind === 'failed' && signal.aborted ? 'broken off' : outcome;
  }

  async #recordResult(
    accountId: AccountId,
    notification: Notification,
    outcome: SendOutcome | 'unwanted',
    claimedUntil: number,
  ): Promise<void> {
    const { notificationStore, clock, emit } = this.parts;
    const now = clock();
    const { updated, nextAt } = afterTry(notification, outcome, now);
    await notificationStore.update(accountId, updated, claimedUntil, nextAt);
    const { id: notificationId, kind, topic, error } = updated;
    const result = updated.status === 'pending' ? 'retried' : updated.status;
    emit({
      name: 'notification.attempted',
      ...{ accountId, notificationId, kind, topic, result },
      ...(error === undefined ? {} : { error }),
    });
  }
}

/** What was requested is never in one message with anything else. */
function byContact(due: readonly Notification[]): readonly (readonly Notification[])[] {
  const groups = new Map<string, Notification[]>();
  for (const each of due) {
    const requested = REQUESTED.find((topic) => topic === each.topic) ?? '';
    const name = `${each.contactId} ${requested}`;
    groups.set(name, [...(groups.get(name) ?? []), each]);
  }
  return [...groups.values()];
}

const NOTHING: NotifiedChanges = { set: {}, del: [], add: [] };

function joined(one: NotifiedChanges, other: NotifiedChanges): NotifiedChanges {
  return {
    set: { ...one.set, ...other.set },
    del: [...one.del, ...other.del],
    add: [...one.add, ...other.add],
  };
}

/** A message after a try, and when the next one is. */
function afterTry(
  notification: Notification,
  outcome: SendOutcome | 'unwanted',
  now: number,
): { readonly updated: Notification; readonly nextAt: number | undefined } {
  if (outcome === 'unwanted') {
    return { updated: { ...notification, status: 'cancelled', endedAt: now }, nextAt: undefined };
  }
  const { error: _former, ...rest } = notification;
  const attempts = notification.attempts + 1;
  if (outcome.kind === 'sent') {
    return { updated: { ...rest, attempts, status: 'sent', endedAt: now }, nextAt: undefined };
  }
  const { error, isForGood } = outcome;
  const delayMs = isForGood ? undefined : RETRY_DELAYS_MS[notification.attempts];
  if (delayMs === undefined) {
    return { updated: { ...rest, attempts, error, status: 'failed', endedAt: now }, nextAt: undefined };
  }
  return { updated: { ...rest, attempts, error }, nextAt: now + delayMs };
}
