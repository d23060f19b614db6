import { z } from 'zod';
import {
  type AccountId,
  type ApiKey,
  accountNotFound,
  DEFAULT_ACCOUNT,
  displayNameSchema,
  hashKey,
  idOfKey,
  isExpired,
  isThere,
  scopeSchema,
  scopes,
} from '../domain/account';
import type { Act } from '../domain/audit';
import { AppError, invalidRequest } from '../platform/app-error';
import { type Clock, formatTime, formatTimeOrNull, timeSchema } from '../platform/clock';
import { encodeBytes, type NewId, newSecretBytes, type SecretBytes } from '../platform/ids';
import { foundElsewhere } from '../platform/zod-words';
import type { AccountStore } from './redis-account-store';
import type { ApiKeyPage, ApiKeyStore, ListedApiKey } from './redis-api-key-store';

/** The input of a new key. The same input gives the same key, once. */
export interface Issue {
  readonly key: string;
  readonly createdAt: number;
}

export interface IssuedApiKey {
  /** The key as the client sends it. It is not stored: this is the only time that it can be shown. */
  readonly key: string;
  readonly apiKey: ApiKey;
}

export interface ApiKeysParts {
  readonly apiKeyStore: ApiKeyStore;
  readonly accountStore: AccountStore;
  readonly clock: Clock;
}

export interface Revocation {
  /** Whether the last key of the account that can issue others may be revoked. */
  readonly mayBeLast?: boolean;
  /** Absent: it is on no record. */
  readonly act?: Act;
}

export interface Rotation {
  readonly overlapMs: number;
  /** Absent: it is on no record. */
  readonly act?: Act;
}

const KEYS_AT_ONCE = 100;

/** The API keys of accounts. */
export class ApiKeys {
  constructor(private readonly parts: ApiKeysParts) {}

  /**
   * Issue a key. It is in force once the promise has resolved.
   *
   * @throws AppError `not_found` when the account is gone, or being erased.
   */
  async issue(
    accountId: AccountId,
    input: NewApiKey,
    { key, createdAt }: Issue,
    act?: Act,
  ): Promise<IssuedApiKey> {
    const { apiKeyStore, accountStore } = this.parts;
    const id = idOfKey(key);
    if (id === undefined)
      throw new AppError('internal_error', 'A new API key does not have the form of one.');
    if (input.scopes.includes('accounts:act') && accountId !== DEFAULT_ACCOUNT) throw actsForNobody();
    const apiKey: ApiKey = { ...input, id, accountId, sha256: hashKey(key), createdAt };
    await apiKeyStore.save(apiKey, act);
    // Check only now: the erasure first marks the account and then removes its keys, so one of the two sees
    // this key. During a slow request the account may be long gone.
    if (!isThere(await accountStore.find(accountId))) {
      await apiKeyStore.remove(apiKey);
      throw accountNotFound(accountId);
    }
    return { key, apiKey };
  }

  /** Newest first; `before` is the `nextCursor` of the page before. */
  async list(accountId: AccountId, limit: number, before?: string): Promise<ApiKeyPage> {
    return await this.parts.apiKeyStore.list(accountId, limit, before);
  }

  /**
   * Revoke a key. It is refused once the promise has resolved.
   *
   * @throws AppError `not_found`; `last_admin_key` if only the operator could issue a key for the account
   *   afterwards.
   */
  async revoke(accountId: AccountId, id: string, { mayBeLast = false, act }: Revocation = {}): Promise<void> {
    const { apiKeyStore, clock } = this.parts;
    const apiKey = await apiKeyStore.find(id);
    if (apiKey?.accountId !== accountId) throw keyNotFound();
    if (canIssue(apiKey, clock())) await this.#leave(apiKey, mayBeLast);
    if (!(await apiKeyStore.remove(apiKey, act))) throw keyNotFound();
  }

  /**
   * Issue a key that may do the same, and let the old one end after an overlap. Portal sessions that the old one made
   * go on. The new key never ends: neither does an earlier end of the old one hold for it.
   *
   * @throws AppError `not_found`; `conflict` for one that has ended, or was rotated before.
   */
  async rotate(
    accountId: AccountId,
    id: string,
    { key, createdAt }: Issue,
    { overlapMs, act }: Rotation,
  ): Promise<IssuedApiKey & { readonly former: ApiKey }> {
    const { apiKeyStore } = this.parts;
    const former = await apiKeyStore.find(id);
    if (former?.accountId !== accountId) throw keyNotFound();
    // A repeated request, whose response was lost.
    if (former.rotatedTo !== undefined && former.rotatedTo === idOfKey(key)) {
      const apiKey = await apiKeyStore.find(former.rotatedTo);
      if (!apiKey) throw keyNotFound();
      return { key, apiKey, former };
    }
    refuseRotated(former, createdAt);
    const { name, scopes: may, eventTypes } = former;
    const input = { name, scopes: [...may], ...(eventTypes && { eventTypes: [...eventTypes] }) };
    const issued = await this.issue(accountId, input, { key, createdAt });
    const ended = await apiKeyStore.endFor(issued.apiKey, former, createdAt + overlapMs, act);
    if (ended?.rotatedTo === issued.apiKey.id) return { ...issued, former: ended };
    // It was revoked meanwhile, and nobody is to have a key in its place; or another rotation was first.
    await apiKeyStore.remove(issued.apiKey);
    if (ended) refuseRotated(ended, createdAt);
    throw keyNotFound();
  }

  /**
   * Create the key that an operator gave in the environment, with every scope, unless it exists. A key of an
   * earlier version gets the scopes that were added since.
   */
  async ensureBootstrapKey(key: string): Promise<void> {
    const { apiKeyStore, clock } = this.parts;
    const id = idOfKey(key);
    if (id === undefined) throw new Error('BOOTSTRAP_API_KEY does not have the form of an API key.');
    const sha256 = hashKey(key);
    const stored = await apiKeyStore.find(id);
    if (stored?.sha256 === sha256) {
      if (lacksScopes(stored)) await apiKeyStore.save({ ...stored, scopes: BOOTSTRAP_SCOPES });
      return;
    }
    if (stored) await apiKeyStore.remove(stored);
    const createdAt = clock();
    const record = { id, accountId: DEFAULT_ACCOUNT, sha256, name: BOOTSTRAP, createdAt };
    await apiKeyStore.save({ ...record, scopes: BOOTSTRAP_SCOPES });
  }

  async #leave(apiKey: ApiKey, mayBeLast: boolean): Promise<void> {
    const { apiKeyStore, clock } = this.parts;
    if (mayBeLast) return void (await apiKeyStore.leave(apiKey));
    for await (const other of this.#keysOf(apiKey.accountId)) {
      const isAnother = other.id !== apiKey.id && canIssue(other, clock());
      if (isAnother && (await apiKeyStore.leave(apiKey, other.id))) return;
    }
    throw lastAdminKey();
  }

  async *#keysOf(accountId: AccountId): AsyncGenerator<ApiKey> {
    let cursor: string | undefined;
    do {
      const page = await this.list(accountId, KEYS_AT_ONCE, cursor);
      yield* page.apiKeys;
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }
}

const BOOTSTRAP = 'bootstrap';
// `admin` implies the other. The version before does not know it, and may run beside this one.
const BOOTSTRAP_SCOPES = scopes.filter((scope) => scope !== 'accounts:act');

// A key of another name was issued by a client, with the scopes that it should have.
function lacksScopes({ name, scopes: had }: ApiKey): boolean {
  return name === BOOTSTRAP && BOOTSTRAP_SCOPES.some((scope) => !had.includes(scope));
}

// One that was rotated soon ends.
function canIssue(apiKey: ApiKey, now: number): boolean {
  return apiKey.scopes.includes('admin') && !isExpired(apiKey, now) && apiKey.rotatedTo === undefined;
}

function refuseRotated(apiKey: ApiKey, now: number): void {
  if (apiKey.rotatedTo !== undefined)
    throw new AppError('conflict', `The key was rotated before: rotate its successor "${apiKey.rotatedTo}".`);
  if (isExpired(apiKey, now)) throw new AppError('conflict', 'The key has expired. Issue a new one.');
}

function keyNotFound(): AppError {
  return new AppError('not_found', 'There is no API key with this id.');
}

function actsForNobody(): AppError {
  const detail = `is only for keys of the account "${DEFAULT_ACCOUNT}": no other one can act for accounts`;
  return invalidRequest([{ pointer: '/scopes', detail: `"accounts:act" ${detail}` }]);
}

function lastAdminKey(): AppError {
  return new AppError(
    'last_admin_key',
    'This is the last key of the account with the scope "admin": without it, only the operator can issue keys. Issue another one first.',
  );
}

// As in a webhook's `events`.
const EVENT_TYPE_FILTER = /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*(\.\*)?$/;
const MAX_EVENT_TYPES = 50;

export const keyEventTypesSchema = z
  .array(
    z
      .string()
      .max(128)
      .regex(EVENT_TYPE_FILTER, 'must be a type such as "order.created", or a prefix such as "order.*"'),
  )
  .min(1, 'must name at least one type')
  .max(MAX_EVENT_TYPES)
  .describe('The only types of events that the key may publish: types, or prefixes such as `order.*`.');

export const scopeListSchema = z
  .array(scopeSchema)
  .min(1, 'must name at least one scope')
  .refine((list) => new Set(list).size === list.length, 'must not name a scope twice')
  .meta({ uniqueItems: true });

const SCOPES = 'What the key may do: each route names the scope that it needs.';

/** The input for a new API key. */
export function newApiKeySchema(clock: Clock) {
  return z
    .strictObject({
      name: displayNameSchema.describe('A name for people, of at most 100 characters.'),
      scopes: scopeListSchema.describe(SCOPES),
      event_types: keyEventTypesSchema
        .nullish()
        .describe(
          'The only types of events that the key may publish: types, or prefixes such as `order.*`; it may then do nothing else with `events:write`. Default, and null: all types.',
        ),
      expires_at: z.iso
        .datetime({ offset: true, error: 'must be a time such as 2030-01-31T00:00:00Z' })
        .transform((time) => Date.parse(time))
        .refine((epochMs) => epochMs > clock(), 'must be in the future')
        .nullish()
        .describe('When the key stops working: a time in the future. Default, and null: never.'),
    })
    .refine(({ event_types, scopes: may }) => event_types == null || may.includes('events:write'), {
      path: ['event_types'],
      message: 'has no effect without the scope "events:write"',
    })
    .register(foundElsewhere, {
      account_id: 'is given by the header X-Account-Id: the key belongs to that account',
    })
    .transform(({ expires_at: expiresAt, event_types: eventTypes, ...input }) => ({
      ...input,
      ...(expiresAt == null ? {} : { expiresAt }),
      ...(eventTypes == null ? {} : { eventTypes }),
    }))
    .meta({ id: 'NewApiKey' });
}
export type NewApiKey = z.output<ReturnType<typeof newApiKeySchema>>;

export const apiKeyViewSchema = z
  .object({
    id: z.string().describe('The id of the key: the 16 characters after `whk_`.'),
    name: z.string().describe('The name of the key, for people.'),
    scopes: z.array(scopeSchema).readonly().describe(SCOPES),
    event_types: z
      .array(z.string())
      .readonly()
      .nullable()
      .describe('The only types of events that the key may publish. Null: all types.'),
    created_at: timeSchema.describe('When the key was issued.'),
    expires_at: timeSchema.nullable().describe('When the key stops working. Null: never.'),
    rotated_to: z
      .string()
      .nullable()
      .describe('The id of the key that took its place. Null: it was not rotated.'),
    last_used_at: timeSchema
      .nullable()
      .describe('When the key was last used, to within a few minutes. Null: never.'),
  })
  .meta({ id: 'ApiKey' });

/** A key as the API and the command line show it, without the parts that would let anybody use it. */
export function presentApiKey(apiKey: ListedApiKey): z.infer<typeof apiKeyViewSchema> {
  return {
    id: apiKey.id,
    name: apiKey.name,
    scopes: apiKey.scopes,
    event_types: apiKey.eventTypes ?? null,
    created_at: formatTime(apiKey.createdAt),
    expires_at: formatTimeOrNull(apiKey.expiresAt),
    rotated_to: apiKey.rotatedTo ?? null,
    last_used_at: formatTimeOrNull(apiKey.lastUsedAt),
  };
}

const ID_CHARACTERS = 16;
const SECRET_CHARACTERS = 52; // 260 bits.

/** A new API key that nobody can guess. The same ids and bytes give the same key. */
export function newApiKey(newId: NewId, secretBytes: SecretBytes = newSecretBytes): string {
  return credentialOf('whk', newId('key').slice(-ID_CHARACTERS), secretBytes);
}

/** The code in the link to a new portal session; likewise. */
export function newPortalCode(newId: NewId, secretBytes: SecretBytes): string {
  return credentialOf('whc', newId('session').slice(-ID_CHARACTERS), secretBytes);
}

/** The token of a session, a new one each time. */
export function newPortalToken(sessionId: string): string {
  return credentialOf('whp', sessionId, newSecretBytes);
}

function credentialOf(prefix: string, id: string, secretBytes: SecretBytes): string {
  return `${prefix}_${id}_${encodeBytes(secretBytes(SECRET_CHARACTERS), SECRET_CHARACTERS)}`;
}
