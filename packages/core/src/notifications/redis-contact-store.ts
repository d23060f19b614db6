import { createHash } from 'node:crypto';
import { makeChange } from '../accounts/audit/redis-recorded-change';
import { removeCopied, replaceCopied } from '../accounts/redis-record-copies';
import type { AccountId } from '../domain/account';
import type { Act, FieldChange } from '../domain/audit';
import { type Contact, type ContactId, contactSchema } from '../domain/contact';
import { keys } from '../domain/keys';
import { resealRecord, type SealedValue, type Sealer } from '../endpoints/seal';
import type { RedisClient } from '../platform/redis-connect';
import { ALL, takeOne } from '../platform/redis-take-one';
import { createContact, removeContact, replaceContact } from './redis-contact-store.script';

/** Each costs a message to every occasion, and all of them are read at once. */
export const MAX_CONTACTS = 20;

/**
 * So many questions to confirm are asked within an hour. Each is a message to somebody who has asked for none, and counts
 * even if its contact is deleted at once. The share of an account leaves room for the others at the same mailbox or URL.
 */
export const CONFIRMATIONS_AN_HOUR = {
  ofTarget: 6,
  ofAccountAtTarget: 3,
  ofAccount: 20,
  /** Protects the good name of the service's mail server. */
  ofService: 1_000,
} as const;
const HOUR_MS = 3_600_000;
const DIGEST_CHARACTERS = 22;

export interface ReachedBound {
  readonly of: 'account' | 'target' | 'service';
  readonly waitMs: number;
}

/** The contacts of each account. Only the sender gets a target or a secret unsealed. */
export class ContactStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly sealer: Sealer,
  ) {}

  /** Gives whether there was room. */
  async create(contact: Contact, act?: Act): Promise<boolean> {
    const { accountId, id } = contact;
    // Before the record: a look that finds no contact yet comes again, one that is never made is lost.
    await this.#lookAt(accountId, contact.createdAt + FIRST_LOOK_MS);
    const recorded = act && { act, accountId, targetId: id };
    const created = { account: accountId, id, record: this.#encode(contact), most: MAX_CONTACTS };
    const isThere = await replaceCopied(this.redis, copiedOf(accountId, id), () =>
      makeChange(this.redis, createContact(created), recorded),
    );
    // A look that came before the record has taken the account off the list.
    if (isThere) await this.#lookAt(accountId, contact.createdAt);
    return isThere;
  }

  async find(accountId: AccountId, id: ContactId): Promise<Contact | undefined> {
    const raw = await this.redis.hget(keys.contacts(accountId), id);
    return raw === null ? undefined : this.#decode(raw);
  }

  /** All of the account, newest first. @throws AppError `secret_unreadable`. */
  async list(accountId: AccountId): Promise<readonly Contact[]> {
    const raws = await this.redis.hvals(keys.contacts(accountId));
    return raws.map((raw) => this.#decode(raw)).sort((a, b) => (a.id < b.id ? 1 : -1));
  }

  /**
   * Replace a contact by the result of `change`, in one step; `change` is called again when another change came
   * between. If it gives the same one, nothing is written. @returns `undefined`: it is not there.
   */
  async update(
    accountId: AccountId,
    id: ContactId,
    change: (contact: Contact) => Contact,
    act?: Act,
    changes?: (before: Contact, after: Contact) => readonly FieldChange[],
  ): Promise<Contact | undefined> {
    for (;;) {
      const raw = await this.redis.hget(keys.contacts(accountId), id);
      if (raw === null) return undefined;
      const before = this.#decode(raw);
      const after = change(before);
      if (after === before) return after;
      const recorded = act && { act, accountId, targetId: id, changes: changes?.(before, after) ?? [] };
      const replaced = replaceContact({ account: accountId, id, before: raw, after: this.#encode(after) });
      const isDone = () => makeChange(this.redis, replaced, recorded);
      if (await replaceCopied(this.redis, copiedOf(accountId, id), isDone)) {
        await this.#lookAt(accountId, after.updatedAt);
        return after;
      }
    }
  }

  async remove(accountId: AccountId, id: ContactId, act?: Act): Promise<boolean> {
    const recorded = act && { act, accountId, targetId: id };
    return await removeCopied(this.redis, copiedOf(accountId, id), () =>
      makeChange(this.redis, removeContact({ account: accountId, id }), recorded),
    );
  }

  async count(accountId: AccountId): Promise<number> {
    return await this.redis.hlen(keys.contacts(accountId));
  }

  /** Count a question to confirm. @returns the bound that is reached, if one is, and how long to wait. */
  async takeConfirmation(
    accountId: AccountId,
    contact: Pick<Contact, 'kind' | 'target'>,
  ): Promise<ReachedBound | undefined> {
    const { ofTarget, ofAccountAtTarget, ofAccount, ofService } = CONFIRMATIONS_AN_HOUR;
    const ofThisTarget = { [ALL]: ofTarget, [accountId]: ofAccountAtTarget };
    const bounds = [
      ['account', keys.confirmations(accountId), { [ALL]: ofAccount }],
      ['target', confirmationsKeyOf(contact), ofThisTarget],
      ['service', keys.allConfirmations, { [ALL]: ofService }],
    ] as const;
    for (const [of, key, most] of bounds) {
      const waitMs = await takeOne(this.redis, key, most, HOUR_MS);
      if (waitMs > 0) return { of, waitMs };
    }
    return undefined;
  }

  async *sealedValues(accountId: AccountId): AsyncGenerator<readonly SealedValue[]> {
    const key = keys.contacts(accountId);
    const records = Object.entries(await this.redis.hgetall(key));
    const resealOne = (stored: Contact) =>
      mapSecrets(stored, (text, owner) => this.sealer.reseal(text, owner));
    const reseal = (raw: string) => resealRecord(raw, contactSchema, resealOne);
    if (records.length > 0) yield records.map(([field, value]) => ({ key, field, value, reseal }));
  }

  async #lookAt(accountId: AccountId, at: number): Promise<void> {
    await this.redis.zadd(keys.contactAccounts, 'LT', at, accountId);
  }

  #encode(contact: Contact): string {
    return JSON.stringify(mapSecrets(contact, (text, owner) => this.sealer.seal(text, owner)));
  }

  #decode(raw: string): Contact {
    const contact = contactSchema.parse(JSON.parse(raw));
    return mapSecrets(contact, (text, owner) => this.sealer.open(text, owner));
  }
}

function copiedOf(accountId: AccountId, field: ContactId) {
  return { key: keys.contacts(accountId), field, accountId };
}

function mapSecrets(contact: Contact, map: (text: string, owner: string) => string): Contact {
  const owner = `${contact.accountId}/contacts/${contact.id}`;
  const { target, secret } = contact;
  return { ...contact, target: map(target, `${owner}/target`), secret: map(secret, `${owner}/secret`) };
}

/** Where the questions to a target are counted. */
export function confirmationsKeyOf(contact: Pick<Contact, 'kind' | 'target'>): string {
  const digest = createHash('sha256').update(mailboxOf(contact)).digest('base64url');
  return keys.confirmations(digest.slice(0, DIGEST_CHARACTERS));
}

// Its users get mail under two names, and with dots at any place.
const WITHOUT_DOTS = new Set(['gmail.com', 'googlemail.com']);
const TAG = /(?!^)\+.*$/;

/** One text for all ways to write a mailbox: in any case, and with a tag (`ada+hooks@…`). A URL is its own. */
function mailboxOf({ kind, target }: Pick<Contact, 'kind' | 'target'>): string {
  if (kind !== 'email') return target;
  const [domain = '', ...rest] = target.toLowerCase().split('@').reverse();
  const name = rest.reverse().join('@').replace(TAG, '');
  return WITHOUT_DOTS.has(domain) ? `${name.replaceAll('.', '')}@gmail.com` : `${name}@${domain}`;
}

/** A new contact's record, and its first message, are there by then. */
const FIRST_LOOK_MS = 2_000;
