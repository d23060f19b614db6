import { domainToASCII } from 'node:url';
import { z } from 'zod';
import type { AccountStore } from '../accounts/redis-account-store';
import { type AccountId, accountNotFound, isThere } from '../domain/account';
import type { Act, FieldChange } from '../domain/audit';
import {
  type Contact,
  type ContactId,
  type ContactKind,
  contactKindSchema,
  contactNotFound,
  digestSchema,
  isProof,
  type LinkPurpose,
  type NotificationId,
  occasionSchema,
  occasions,
  parseLinkToken,
} from '../domain/contact';
import { type EndpointId, endpointNotFound, endpointRefSchema } from '../domain/endpoint';
import { type TargetUrlRules, targetUrlSchema } from '../domain/target-url';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { AppError, invalidRequest } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import {
  CONFIRMATIONS_AN_HOUR,
  type ContactStore,
  MAX_CONTACTS,
  type ReachedBound,
} from './redis-contact-store';
import type { NotificationFilter, NotificationPage, NotificationStore } from './redis-notification-store';

const MAX_TIME_ZONE = 64;
const MAX_ADDRESS = 254;
const TOO_LONG = `must have at most ${MAX_ADDRESS} characters`;

const settingsShape = {
  webhook_id: endpointRefSchema.describe(
    'The only webhook that it gets notifications about: its id or its `uid`. Default: all webhooks.',
  ),
  occasions: z
    .array(occasionSchema)
    .min(1, 'must have at least one; leave it out for all')
    .max(occasions.length)
    .readonly()
    .describe('The occasions that it gets notifications about. Default: all.'),
  digest: digestSchema.describe(
    'How often it gets its notifications: together at each full hour or at midnight (UTC). Default: each at once.',
  ),
  time_zone: z
    .string()
    .max(MAX_TIME_ZONE)
    .refine(isTimeZone, 'must be the name of a time zone such as Europe/Berlin')
    .describe('The time zone of the times in its messages, such as `Europe/Berlin`. Default: UTC.'),
};

export const KIND = 'The type of its messages: mail, a message in a chat, or a request to a webhook.';

/** The input of a new contact. */
export const newContactSchema = z
  .strictObject({
    type: contactKindSchema.describe(KIND),
    address: z
      .string()
      .max(MAX_ADDRESS, { error: TOO_LONG, abort: true })
      .overwrite(withAsciiDomain)
      .check(z.email('must be a mail address such as ada@example.com'))
      .max(MAX_ADDRESS, TOO_LONG)
      .optional()
      .describe('The mail address. Needed for the type `email`, and refused for all others.'),
    url: z.string().optional().describe('The URL of an incoming webhook. Needed for all types but `email`.'),
    webhook_id: settingsShape.webhook_id.optional(),
    occasions: settingsShape.occasions.optional(),
    digest: settingsShape.digest.optional(),
    time_zone: settingsShape.time_zone.optional(),
  })
  .meta({ id: 'NewContact' });
export type NewContact = z.output<typeof newContactSchema>;

/** Null takes a setting away. */
export const contactPatchSchema = z
  .strictObject({
    webhook_id: settingsShape.webhook_id
      .nullable()
      .optional()
      .describe(
        'The only webhook that it gets notifications about: its id or its `uid`. Null: all webhooks.',
      ),
    occasions: settingsShape.occasions
      .nullable()
      .optional()
      .describe('The occasions that it gets notifications about. Null: all.'),
    digest: settingsShape.digest
      .nullable()
      .optional()
      .describe('How often it gets its notifications, in one message. Null: each at once.'),
    time_zone: settingsShape.time_zone
      .nullable()
      .optional()
      .describe('The time zone of the times in its messages, such as `Europe/Berlin`. Null: UTC.'),
  })
  .meta({ id: 'ContactPatch' });
export type ContactPatch = z.output<typeof contactPatchSchema>;

export interface ContactsParts {
  readonly contactStore: ContactStore;
  readonly notificationStore: NotificationStore;
  readonly endpointStore: EndpointStore;
  readonly accountStore: AccountStore;
  readonly urlRules: TargetUrlRules;
  /** Whether mail is set up. */
  readonly sendsMail: boolean;
  /** Whether messages can have links. */
  readonly hasPublicUrl: boolean;
  readonly clock: Clock;
}

export interface ContactMaking {
  readonly id: ContactId;
  /** Its links are derived from it. */
  readonly secret: string;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  readonly act?: Act;
}

/** Who gets messages about an account's webhooks. */
export class Contacts {
  constructor(private readonly parts: ContactsParts) {}

  /**
   * Make a contact. A worker asks it whether it wants messages; until it has said so, it gets no other one.
   *
   * @throws AppError `invalid_request`, `not_found` for its webhook or when the account is gone, `limit_reached`,
   *   `rate_limited` when its target, or anybody for this account, was asked too often.
   */
  async create(
    accountId: AccountId,
    input: NewContact,
    { id, secret, createdAt, act }: ContactMaking,
  ): Promise<Contact> {
    const { contactStore, accountStore } = this.parts;
    const target = targetOf(this.parts, input);
    const endpointId = await this.#endpointIdOf(accountId, input.webhook_id);
    const known = await contactStore.find(accountId, id);
    if (known) return known;
    // Requests that are refused anyway must not count.
    if ((await contactStore.count(accountId)) >= MAX_CONTACTS) throw tooMany();
    await this.#takeConfirmation(accountId, { kind: input.type, target });
    const contact: Contact = {
      id,
      accountId,
      kind: input.type,
      target,
      secret,
      ...(endpointId === undefined ? {} : { endpointId }),
      ...(input.occasions === undefined ? {} : { occasions: input.occasions }),
      ...(input.digest === undefined ? {} : { digest: input.digest }),
      ...(input.time_zone === undefined ? {} : { timeZone: input.time_zone }),
      status: 'unconfirmed',
      createdAt,
      updatedAt: createdAt,
    };
    if (!(await contactStore.create(contact, act))) throw tooMany();
    // As with a new webhook: an erasure first marks the account and then removes its contacts.
    if (!isThere(await accountStore.find(accountId))) {
      await contactStore.remove(accountId, id);
      throw accountNotFound(accountId);
    }
    return contact;
  }

  /** All of the account, newest first. @throws AppError `secret_unreadable`. */
  async list(accountId: AccountId): Promise<readonly Contact[]> {
    return await this.parts.contactStore.list(accountId);
  }

  /** @throws AppError `not_found`, for the contact or its webhook. */
  async update(accountId: AccountId, id: ContactId, patch: ContactPatch, act?: Act): Promise<Contact> {
    const endpointId = await this.#endpointIdOf(accountId, patch.webhook_id ?? undefined);
    const change = (before: Contact): Contact => {
      const { endpointId: endpointBefore, occasions: occasionsBefore, digest, timeZone, ...rest } = before;
      const after = {
        endpointId: patch.webhook_id === undefined ? endpointBefore : endpointId,
        occasions: patch.occasions === undefined ? occasionsBefore : (patch.occasions ?? undefined),
        digest: patch.digest === undefined ? digest : (patch.digest ?? undefined),
        timeZone: patch.time_zone === undefined ? timeZone : (patch.time_zone ?? undefined),
      };
      const set = Object.fromEntries(Object.entries(after).filter(([, value]) => value !== undefined));
      return { ...rest, ...set, updatedAt: this.parts.clock() };
    };
    return await this.#change(accountId, id, change, act, changesOf);
  }

  /**
   * Ask once more whether it wants messages.
   *
   * @throws AppError `not_found`, `conflict` when it has answered, `rate_limited` as for a new one.
   */
  async askAgain(accountId: AccountId, id: ContactId, act?: Act): Promise<Contact> {
    const known = await this.parts.contactStore.find(accountId, id);
    if (!known) throw contactNotFound();
    // Requests that are refused anyway must not count.
    requireUnconfirmed(known);
    await this.#takeConfirmation(accountId, known);
    const ask = (before: Contact): Contact => {
      requireUnconfirmed(before);
      const now = this.parts.clock();
      return { ...before, askedAt: now, updatedAt: now };
    };
    return await this.#change(accountId, id, ask, act);
  }

  /**
   * Send it a message that says nothing.
   *
   * @throws AppError `not_found`, `conflict` when it gets no messages, `rate_limited` as for a new one.
   */
  async sendTest(accountId: AccountId, id: ContactId, act?: Act): Promise<Contact> {
    const known = await this.parts.contactStore.find(accountId, id);
    if (!known) throw contactNotFound();
    requireConfirmed(known);
    await this.#takeConfirmation(accountId, known);
    const test = (before: Contact): Contact => {
      requireConfirmed(before);
      const now = this.parts.clock();
      return { ...before, testedAt: now, updatedAt: now };
    };
    return await this.#change(accountId, id, test, act);
  }

  /** @throws AppError `not_found`. */
  async remove(accountId: AccountId, id: ContactId, act?: Act): Promise<void> {
    if (!(await this.parts.contactStore.remove(accountId, id, act))) throw contactNotFound();
  }

  /** The contact of a public link. @throws AppError `not_found` for a link that is not right, whatever is wrong with it. */
  async findByLink(token: string, purpose: LinkPurpose): Promise<Contact> {
    const link = parseLinkToken(token);
    const contact = link && (await this.parts.contactStore.find(link.accountId, link.id));
    if (!contact || !isProof(contact, purpose, link.proof)) {
      throw new AppError('not_found', 'The link is not valid, or its contact was deleted.');
    }
    return contact;
  }

  /**
   * Do what a public link is for. Repeating it changes nothing. Who has unsubscribed stays so: only a new contact asks
   * again. @throws AppError `not_found`.
   */
  async followLink(token: string, purpose: LinkPurpose, act?: Act): Promise<Contact> {
    const { accountId, id } = await this.findByLink(token, purpose);
    const change = (contact: Contact): Contact => {
      const status = purpose === 'unsubscribe' ? 'unsubscribed' : 'confirmed';
      if (contact.status === status || contact.status === 'unsubscribed') return contact;
      return { ...contact, status, updatedAt: this.parts.clock() };
    };
    return await this.#change(accountId, id, change, act);
  }

  /** The messages to them, newest first; `before` is the `nextCursor` of the page before. */
  async listNotifications(
    accountId: AccountId,
    limit: number,
    before: NotificationId | undefined,
    filter: NotificationFilter,
  ): Promise<NotificationPage> {
    return await this.parts.notificationStore.list(accountId, limit, before, filter);
  }

  async #change(...change: Parameters<ContactStore['update']>): Promise<Contact> {
    const contact = await this.parts.contactStore.update(...change);
    if (!contact) throw contactNotFound();
    return contact;
  }

  async #endpointIdOf(accountId: AccountId, ref: NewContact['webhook_id']): Promise<EndpointId | undefined> {
    if (ref === undefined) return undefined;
    const { endpointStore } = this.parts;
    const id = await endpointStore.idOf(accountId, ref);
    if (id === undefined || !(await endpointStore.find(accountId, id))) throw endpointNotFound();
    return id;
  }

  async #takeConfirmation(accountId: AccountId, contact: Pick<Contact, 'kind' | 'target'>): Promise<void> {
    const reached = await this.parts.contactStore.takeConfirmation(accountId, contact);
    if (!reached) return;
    throw new AppError('rate_limited', `${REACHED[reached.of]} Try again later.`, {
      retryAfterMs: reached.waitMs,
    });
  }
}

function changesOf(before: Contact, after: Contact): readonly FieldChange[] {
  const fields = [
    ['webhook_id', 'endpointId'],
    ['occasions', 'occasions'],
    ['digest', 'digest'],
    ['time_zone', 'timeZone'],
  ] as const;
  return fields.flatMap(([field, member]) => {
    const [from, to] = [before[member], after[member]];
    if (JSON.stringify(from) === JSON.stringify(to)) return [];
    return [{ field, ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }];
  });
}

function requireUnconfirmed({ status }: Contact): void {
  if (status === 'unconfirmed') return;
  const why =
    status === 'confirmed'
      ? 'It has confirmed already.'
      : 'It has unsubscribed: create a new contact instead.';
  throw new AppError('conflict', `The contact can't be asked again. ${why}`);
}

function requireConfirmed({ status }: Contact): void {
  if (status === 'confirmed') return;
  const why = status === 'unconfirmed' ? 'It has not confirmed yet.' : 'It has unsubscribed.';
  throw new AppError('conflict', `The contact gets no messages. ${why}`);
}

/** The part of a target that may be shown: a mail address, or the host of a URL, because the rest may be a secret. */
export function shownTarget({ kind, target }: Pick<Contact, 'kind' | 'target'>): string {
  return kind === 'email' ? target : new URL(target).host;
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

const OTHER_ALPHABET = /\P{ASCII}/u;

/** `ü` in a domain is written `xn--…` on the wire, and compared like that. */
function withAsciiDomain(address: string): string {
  const at = address.lastIndexOf('@');
  const domain = address.slice(at + 1);
  if (at < 0 || domain.length > MAX_ADDRESS || !OTHER_ALPHABET.test(domain)) return address;
  return `${address.slice(0, at)}@${domainToASCII(domain)}`;
}

function targetOf(parts: ContactsParts, { type: kind, address, url }: NewContact): string {
  const isMail = kind === 'email';
  const [wanted, other] = isMail ? (['address', 'url'] as const) : (['url', 'address'] as const);
  const text = isMail ? address : url;
  if ((isMail ? url : address) !== undefined)
    throw fault(`/${other}`, `must be left out for the type "${kind}"`);
  if (text === undefined) throw fault(`/${wanted}`, `is required for the type "${kind}"`);
  if (!parts.hasPublicUrl) throw fault('/type', 'needs PUBLIC_URL, which the operator has not set');
  if (isMail) {
    if (!parts.sendsMail) throw fault('/type', 'needs MAIL_FROM, which the operator has not set');
    return text;
  }
  return checkedUrl(parts, kind, text);
}

// Only the services' own: anything else is a webhook.
const HOSTS: Readonly<Partial<Record<ContactKind, RegExp>>> = {
  slack: /^hooks\.slack(-gov)?\.com$/,
  discord: /^(?:\w+\.)?discord(?:app)?\.com$/,
  teams: /(?:^|\.)(?:office\.com|logic\.azure\.com|api\.powerplatform\.com)$/,
};

function checkedUrl({ urlRules }: ContactsParts, kind: ContactKind, text: string): string {
  const parsed = targetUrlSchema(urlRules).safeParse(text);
  if (!parsed.success) throw fault('/url', parsed.error.issues[0]?.message ?? 'must be a URL');
  const host = HOSTS[kind];
  if (host === undefined) return parsed.data;
  const { protocol, hostname, port } = new URL(parsed.data);
  if (!host.test(hostname)) {
    throw fault('/url', `must be an incoming webhook of ${kind}; use the type "webhook" for any other URL`);
  }
  // The URL is a password: ALLOW_HTTP_URLS is for servers of one's own.
  if (protocol !== 'https:' || port !== '') throw fault('/url', 'must begin with https:// and name no port');
  return parsed.data;
}

const REACHED: Readonly<Record<ReachedBound['of'], string>> = {
  account: `The account has asked for ${CONFIRMATIONS_AN_HOUR.ofAccount} confirmations and test messages within an hour. Deleted contacts count too.`,
  target: `This address was asked to confirm, or got test messages, too often: ${CONFIRMATIONS_AN_HOUR.ofAccountAtTarget} times an hour for one account, ${CONFIRMATIONS_AN_HOUR.ofTarget} times for all together.`,
  service: 'The service has sent as many requests to confirm and test messages as it may within an hour.',
};

function tooMany(): AppError {
  return new AppError('limit_reached', `The account has ${MAX_CONTACTS} contacts. Delete one first.`);
}

function fault(pointer: string, detail: string): AppError {
  return invalidRequest([{ pointer, detail }]);
}
