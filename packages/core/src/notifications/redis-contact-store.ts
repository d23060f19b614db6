import { createHash } from 'node:crypto';
import { defineTextChange } from '../audit/redis-recorded-change';
import type { AccountId } from '../domain/account';
import type { Act, FieldChange } from '../domain/audit';
import { type Contact, type ContactId, contactSchema } from '../domain/contact';
import { keys } from '../domain/keys';
import type { Sealer } from '../endpoints/seal';
import type { RedisClient } from '../platform/redis-connect';
import { takeOne } from '../platform/redis-take-one';

/** Each costs a message to every occasion, and all of them are read at once. */
export const MAX_CONTACTS = 20;

/** So many contacts may be made for one address or URL within an hour, by whatever accounts: each sends it a message. */
export const CONFIRMATIONS_AN_HOUR = 3;
const HOUR_MS = 3_600_000;
const DIGEST_CHARACTERS = 22;

// The record is the same when a create is repeated. KEYS: contacts. ARGV: id, record, the most of them.
const CREATE = defineTextChange(
  '1',
  `
  if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return 1 end
  if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  record_act()
  return 1`,
);

// KEYS: contacts. ARGV: id, the record as it must be now, the new one.
const REPLACE_IF_UNCHANGED = defineTextChange(
  '1',
  `
  if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then return 0 end
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
  record_act()
  return 1`,
);

// KEYS: contacts. ARGV: id.
const REMOVE = defineTextChange(
  '1',
  `
  local removed = redis.call('HDEL', KEYS[1], ARGV[1])
  if removed == 1 then record_act() end
  return removed`,
);

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
    const args = [id, this.#encode(contact), MAX_CONTACTS];
    const isThere = (await CREATE(this.redis, [keys.contacts(accountId)], args, recorded)) === 1;
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
      const args = [id, raw, this.#encode(after)];
      if ((await REPLACE_IF_UNCHANGED(this.redis, [keys.contacts(accountId)], args, recorded)) === 1) {
        await this.#lookAt(accountId, after.updatedAt);
        return after;
      }
    }
  }

  async remove(accountId: AccountId, id: ContactId, act?: Act): Promise<boolean> {
    const recorded = act && { act, accountId, targetId: id };
    return (await REMOVE(this.redis, [keys.contacts(accountId)], [id], recorded)) === 1;
  }

  /** Count a contact that somebody makes for a target. @returns how long to wait if it is one too many, else 0. */
  async takeFromTarget(target: string): Promise<number> {
    return await takeOne(this.redis, confirmationsKeyOf(target), CONFIRMATIONS_AN_HOUR, HOUR_MS);
  }

  async #lookAt(accountId: AccountId, at: number): Promise<void> {
    await this.redis.zadd(keys.contactAccounts, 'LT', at, accountId);
  }

  #encode(contact: Contact): string {
    const owner = ownerOf(contact);
    const { target, secret } = contact;
    return JSON.stringify({
      ...contact,
      target: this.sealer.seal(target, `${owner}/target`),
      secret: this.sealer.seal(secret, `${owner}/secret`),
    });
  }

  #decode(raw: string): Contact {
    const contact = contactSchema.parse(JSON.parse(raw));
    const owner = ownerOf(contact);
    return {
      ...contact,
      target: this.sealer.open(contact.target, `${owner}/target`),
      secret: this.sealer.open(contact.secret, `${owner}/secret`),
    };
  }
}

/** Where the contacts are counted that were made for a target. */
export function confirmationsKeyOf(target: string): string {
  const digest = createHash('sha256').update(target.toLowerCase()).digest('base64url');
  return keys.confirmationsAsked(digest.slice(0, DIGEST_CHARACTERS));
}

/** A new contact's record, and its first message, are there by then. */
const FIRST_LOOK_MS = 2_000;

function ownerOf({ accountId, id }: Pick<Contact, 'accountId' | 'id'>): string {
  return `${accountId}/contacts/${id}`;
}
