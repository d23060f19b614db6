import { z } from 'zod';
import {
  type Account,
  type AccountId,
  accountIdSchema,
  accountNotFound,
  accountQuotaSchema,
  accountWeightSchema,
  DEFAULT_ACCOUNT,
  defaultSigningSchema,
  displayNameSchema,
  isThere,
} from '../domain/account';
import type { Act } from '../domain/audit';
import { accountHistoryRetentionSchema, formatHistoryRetention } from '../domain/history-retention';
import { type Pause, pauseViewSchema, presentPauseOrNull } from '../domain/pause';
import { cloudEventsSourceSchema } from '../domain/setting-schemas';
import { endpointVerificationSchema } from '../domain/verification';
import { AppError } from '../platform/app-error';
import { type Clock, formatTime, timeSchema } from '../platform/clock';
import type { AccountPage, AccountStore } from './redis-account-store';
import type { PauseStore } from './redis-pause-store';

export interface AccountsParts {
  readonly accountStore: AccountStore;
  readonly pauseStore: PauseStore;
  readonly clock: Clock;
}

/** An account, with its pause if it is paused. */
export interface ShownAccount extends Account {
  readonly pause?: Pause | undefined;
}

/** The accounts that operators have for their customers, and their own. */
export class Accounts {
  constructor(private readonly parts: AccountsParts) {}

  /**
   * Create an account. Repeating a creation gives the account that it made.
   *
   * @param creation the account's id, if the client has chosen none.
   * @throws AppError `conflict` when an account with this id exists, or existed until recently.
   */
  async create(input: NewAccount, creation: string, act?: Act): Promise<ShownAccount> {
    const { accountStore, clock } = this.parts;
    const account = accountOf(input, creation, clock());
    if (await accountStore.create(account, act)) return account;
    const existing = await accountStore.find(account.id);
    if (existing?.creation === creation) return await this.#withPause(existing);
    throw new AppError(
      'conflict',
      existing
        ? 'There is already an account with this id.'
        : 'An account with this id was erased. The id can be used again when its last records are gone.',
    );
  }

  /** Newest first; `before` is the `nextCursor` of the page before. */
  async list(
    limit: number,
    before?: string,
  ): Promise<AccountPage & { readonly accounts: readonly ShownAccount[] }> {
    const { accountStore, pauseStore } = this.parts;
    const { accounts, nextCursor } = await accountStore.list(limit, before);
    const pauses = await pauseStore.findOfAccounts(accounts.map(({ id }) => id));
    return { accounts: accounts.map((account, i) => ({ ...account, pause: pauses[i] })), nextCursor };
  }

  /** @throws AppError `not_found`. */
  async read(id: AccountId): Promise<ShownAccount> {
    const account = await this.parts.accountStore.find(id);
    if (!account) throw accountNotFound(id);
    return await this.#withPause(account);
  }

  /**
   * Change an account, for events published and webhooks registered from then on. @throws AppError `not_found`,
   * also while it is being erased.
   */
  async update(id: AccountId, patch: AccountPatch, act?: Act): Promise<ShownAccount> {
    const { accountStore } = this.parts;
    const change = {
      weight: patch.weight,
      quotaBytes: patch.quota_bytes,
      historyDays: patch.history_retention,
      defaultSigning: patch.default_signing,
      cloudEventsSource: patch.cloudevents_source,
      endpointVerification: patch.endpoint_verification,
    };
    const isChanged = Object.values(change).some((value) => value !== undefined);
    const account = isChanged ? await accountStore.change(id, change, act) : await accountStore.find(id);
    if (!isThere(account)) throw accountNotFound(id);
    return await this.#withPause(account);
  }

  async #withPause(account: Account): Promise<ShownAccount> {
    return { ...account, pause: await this.parts.pauseStore.find({ kind: 'account', id: account.id }) };
  }

  /** Create the operator's own account, unless it exists. */
  async ensureDefault(): Promise<void> {
    const { accountStore, clock } = this.parts;
    await accountStore.create({ id: DEFAULT_ACCOUNT, createdAt: clock() });
  }
}

function accountOf(input: NewAccount, creation: string, createdAt: number): Account {
  const { id, name, weight, quota_bytes: quotaBytes, history_retention: historyDays } = input;
  const { default_signing: defaultSigning, cloudevents_source: cloudEventsSource } = input;
  const { endpoint_verification: endpointVerification } = input;
  return {
    id: id ?? (creation as AccountId),
    creation,
    ...(name === undefined ? {} : { name }),
    ...(weight === undefined ? {} : { weight }),
    ...(quotaBytes === undefined ? {} : { quotaBytes }),
    ...(historyDays === undefined ? {} : { historyDays }),
    ...(defaultSigning === undefined ? {} : { defaultSigning }),
    ...(cloudEventsSource === undefined ? {} : { cloudEventsSource }),
    ...(endpointVerification === undefined ? {} : { endpointVerification }),
    createdAt,
  };
}

export const WEIGHT = "The account's share of the workers, relative to other accounts: 1 to 100.";
const QUOTA = 'How many bytes the account may store in Redis. 0: no limit.';
const RETENTION = 'How long the history of the account is kept: whole days, such as `30d`; 1 to 10,000.';
const SIGNING = 'How webhooks are signed that do not set `signing` themselves.';
const SOURCE = 'The `source` of CloudEvents of webhooks that do not set one themselves.';
const VERIFICATION =
  'Whether new and changed webhooks must be verified before they get deliveries: `required` or `off`.';

/** The input for a new account. Without an id it is given one. */
export const newAccountSchema = z
  .strictObject({
    id: accountIdSchema.optional().describe('An id of your own. Default: a generated one.'),
    name: displayNameSchema
      .optional()
      .describe('A name for people, of at most 100 characters. Default: none.'),
    weight: accountWeightSchema.optional().describe(`${WEIGHT} Default: 1.`),
    quota_bytes: accountQuotaSchema.optional().describe(`${QUOTA} Default: the one of the service.`),
    history_retention: accountHistoryRetentionSchema.optional().describe(`${RETENTION} Default: as for all.`),
    default_signing: defaultSigningSchema.optional().describe(`${SIGNING} Default: \`hmac\`.`),
    cloudevents_source: cloudEventsSourceSchema
      .optional()
      .describe(`${SOURCE} Default: the one of the service.`),
    endpoint_verification: endpointVerificationSchema
      .optional()
      .describe(`${VERIFICATION} Default: as the service has it.`),
  })
  .meta({ id: 'NewAccount' });
export type NewAccount = z.output<typeof newAccountSchema>;

/** The members of an account that can change. */
export const accountPatchSchema = z
  .strictObject({
    weight: accountWeightSchema.optional().describe(WEIGHT),
    quota_bytes: accountQuotaSchema.nullish().describe(`${QUOTA} \`null\`: the one of the service.`),
    history_retention: accountHistoryRetentionSchema
      .nullish()
      .describe(`${RETENTION} \`null\`: as for all accounts.`),
    default_signing: defaultSigningSchema.optional().describe(SIGNING),
    cloudevents_source: cloudEventsSourceSchema
      .nullish()
      .describe(`${SOURCE} \`null\`: the one of the service.`),
    endpoint_verification: endpointVerificationSchema
      .nullish()
      .describe(`${VERIFICATION} \`null\`: as the service has it.`),
  })
  .meta({ id: 'AccountPatch' });
export type AccountPatch = z.output<typeof accountPatchSchema>;

const erasureSchema = z
  .object({
    requested_at: timeSchema.describe('When the erasure was requested.'),
    webhooks_left: z.int().nullable().describe('How many webhooks are not erased yet. Null in lists.'),
    events_left: z.int().nullable().describe('How many events are not erased yet. Null in lists.'),
  })
  .meta({ id: 'Erasure' });

export const accountViewSchema = z
  .object({
    id: z.string().describe('The id of the account, for the header `X-Account-Id`.'),
    name: z.string().nullable().describe('The name of the account, for people. Null: it has none.'),
    weight: z.int().describe(WEIGHT),
    quota_bytes: z.int().nullable().describe(`${QUOTA} Null: the one of the service.`),
    history_retention: z
      .string()
      .nullable()
      .meta({ example: '30d' })
      .describe(`${RETENTION} Null: as for all accounts.`),
    default_signing: defaultSigningSchema.describe(SIGNING),
    cloudevents_source: z.string().nullable().describe(`${SOURCE} Null: the one of the service.`),
    endpoint_verification: endpointVerificationSchema
      .nullable()
      .describe(`${VERIFICATION} Null: as the service has it.`),
    status: z.enum(['active', 'erasing']).describe('`active`, or `erasing` while its data is being erased.'),
    pause: pauseViewSchema
      .nullable()
      .describe('Who has paused the account, when, and why. Null: it is not paused.'),
    created_at: timeSchema.describe('When the account was created.'),
    erasure: erasureSchema.nullable().meta({
      description: 'The progress of the erasure. Null: the account is not being erased.',
    }),
  })
  .meta({ id: 'Account' });

/** How much is left of an account that is being erased. */
interface Remains {
  readonly endpoints: number;
  readonly events: number;
}

interface AccountWithRemains extends ShownAccount {
  /** If they were counted. */
  readonly remains?: Remains | undefined;
}

/** An account as the API and the command line show it. */
export function presentAccount({
  id,
  name,
  weight = 1,
  quotaBytes,
  historyDays,
  defaultSigning = 'hmac',
  cloudEventsSource,
  endpointVerification,
  createdAt,
  erasingSince,
  pause,
  remains,
}: AccountWithRemains): z.infer<typeof accountViewSchema> {
  return {
    id,
    name: name ?? null,
    weight,
    quota_bytes: quotaBytes ?? null,
    history_retention: historyDays === undefined ? null : formatHistoryRetention(historyDays),
    default_signing: defaultSigning,
    cloudevents_source: cloudEventsSource ?? null,
    endpoint_verification: endpointVerification ?? null,
    status: erasingSince === undefined ? 'active' : 'erasing',
    pause: presentPauseOrNull(pause),
    created_at: formatTime(createdAt),
    erasure: erasingSince === undefined ? null : presentErasure(erasingSince, remains),
  };
}

function presentErasure(erasingSince: number, remains: Remains | undefined) {
  return {
    requested_at: formatTime(erasingSince),
    webhooks_left: remains?.endpoints ?? null,
    events_left: remains?.events ?? null,
  };
}
