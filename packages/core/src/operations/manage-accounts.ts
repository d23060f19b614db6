import { z } from 'zod';
import type { AccountStore } from '../accounts/redis-account-store';
import {
  ACCOUNT_ID_PREFIX,
  type Account,
  type AccountId,
  accountIdSchema,
  accountNotFound,
  accountQuotaSchema,
  accountWeightSchema,
  defaultSigningSchema,
  displayNameSchema,
  isThere,
} from '../domain/account';
import type { Act } from '../domain/audit';
import { accountHistoryRetentionSchema, formatHistoryRetention } from '../domain/history-retention';
import { cloudEventsSourceSchema } from '../domain/setting-schemas';
import { endpointVerificationSchema } from '../domain/verification';
import { AppError } from '../platform/app-error';
import { type Clock, formatTime, timeSchema } from '../platform/clock';
import type { NewId } from '../platform/ids';
import type { Remains, RemainsStore } from './redis-remains-store';

export interface CreateAccountContext {
  readonly accountStore: Pick<AccountStore, 'create' | 'find'>;
  readonly newId: NewId;
  readonly clock: Clock;
}

/**
 * Create an account. Repeating a creation gives the account that it made.
 *
 * @param creation the account's id, if the client has chosen none.
 * @throws AppError `conflict` when an account with this id exists, or existed until recently.
 */
export async function createAccount(
  { accountStore, newId, clock }: CreateAccountContext,
  input: NewAccount,
  creation = newId(ACCOUNT_ID_PREFIX),
  act?: Act,
): Promise<Account> {
  const { id, name, weight, quota_bytes: quotaBytes, history_retention: historyDays } = input;
  const { default_signing: defaultSigning, cloudevents_source: cloudEventsSource } = input;
  const { endpoint_verification: endpointVerification } = input;
  const account: Account = {
    id: id ?? (creation as AccountId),
    creation,
    ...(name === undefined ? {} : { name }),
    ...(weight === undefined ? {} : { weight }),
    ...(quotaBytes === undefined ? {} : { quotaBytes }),
    ...(historyDays === undefined ? {} : { historyDays }),
    ...(defaultSigning === undefined ? {} : { defaultSigning }),
    ...(cloudEventsSource === undefined ? {} : { cloudEventsSource }),
    ...(endpointVerification === undefined ? {} : { endpointVerification }),
    createdAt: clock(),
  };
  if (await accountStore.create(account, act)) return account;
  const existing = await accountStore.find(account.id);
  if (existing?.creation === creation) return existing;
  throw new AppError(
    'conflict',
    existing
      ? 'There is already an account with this id.'
      : 'The account with this id was erased. The id is free again once nothing of that time is kept any more.',
  );
}

/**
 * Change an account, for events published and webhooks registered from then on. @throws AppError `not_found`, also while it is being
 * erased.
 */
export async function updateAccount(
  { accountStore }: { readonly accountStore: Pick<AccountStore, 'change' | 'find'> },
  id: AccountId,
  {
    weight,
    quota_bytes: quotaBytes,
    history_retention: historyDays,
    default_signing: defaultSigning,
    cloudevents_source: cloudEventsSource,
    endpoint_verification: endpointVerification,
  }: AccountPatch,
  act?: Act,
): Promise<Account> {
  const change = {
    weight,
    quotaBytes,
    historyDays,
    defaultSigning,
    cloudEventsSource,
    endpointVerification,
  };
  const isChanged = Object.values(change).some((value) => value !== undefined);
  const account = isChanged ? await accountStore.change(id, change, act) : await accountStore.find(id);
  if (!isThere(account)) throw accountNotFound();
  return account;
}

/** @throws AppError `not_found`. */
export async function readAccount(
  { accountStore }: { readonly accountStore: Pick<AccountStore, 'find'> },
  id: AccountId,
): Promise<Account> {
  const account = await accountStore.find(id);
  if (!account) throw accountNotFound();
  return account;
}

/** Read how much is left of an account that is being erased; `undefined` for any other. */
export async function readRemains(
  { remainsStore }: { readonly remainsStore: Pick<RemainsStore, 'count'> },
  { id, erasingSince }: Account,
): Promise<Remains | undefined> {
  return erasingSince === undefined ? undefined : await remainsStore.count(id);
}

/** The input for a new account. Without an id it is given one. */
export const newAccountSchema = z
  .strictObject({
    id: accountIdSchema.optional().describe('An id of your own; made up unless given.'),
    name: displayNameSchema.optional().describe('A name for people.'),
    weight: accountWeightSchema.optional(),
    quota_bytes: accountQuotaSchema.optional(),
    history_retention: accountHistoryRetentionSchema.optional(),
    default_signing: defaultSigningSchema.optional(),
    cloudevents_source: cloudEventsSourceSchema.optional(),
    endpoint_verification: endpointVerificationSchema.optional(),
  })
  .meta({ id: 'NewAccount' });
export type NewAccount = z.output<typeof newAccountSchema>;

/** The members of an account that can change. */
export const accountPatchSchema = z
  .strictObject({
    weight: accountWeightSchema.optional(),
    /** `null`: as for all accounts. */
    quota_bytes: accountQuotaSchema.nullish(),
    /** The same. */
    history_retention: accountHistoryRetentionSchema.nullish(),
    default_signing: defaultSigningSchema.optional(),
    /** `null`: as for all accounts. */
    cloudevents_source: cloudEventsSourceSchema.nullish(),
    /** `null`: as the service has it. */
    endpoint_verification: endpointVerificationSchema.nullish(),
  })
  .meta({ id: 'AccountPatch' });
export type AccountPatch = z.output<typeof accountPatchSchema>;

const erasureSchema = z
  .object({
    requested_at: timeSchema,
    webhooks_left: z.int().optional(),
    events_left: z.int().optional(),
  })
  .meta({ id: 'Erasure' });

export const accountViewSchema = z
  .object({
    id: z.string().describe("The account's id, as `X-Account-Id` takes it."),
    name: z.string().optional().describe('The name that it was given, for people.'),
    weight: z.int(),
    quota_bytes: z
      .int()
      .optional()
      .describe('How much it may store, if that was set for it; 0: as much as there is room for.'),
    history_retention: z
      .string()
      .optional()
      .meta({ example: '30d' })
      .describe('How long its history is kept, if that was set for it.'),
    default_signing: defaultSigningSchema,
    cloudevents_source: z.string().optional(),
    endpoint_verification: endpointVerificationSchema
      .optional()
      .describe('Whether its webhooks have to be verified, if that was set for it.'),
    status: z.enum(['active', 'erasing']).describe('`active`, or `erasing` while its data is being deleted.'),
    created_at: timeSchema.describe('When the account was made.'),
    erasure: erasureSchema.optional().meta({
      description: 'While it is being erased. How much is left is counted when the account is read alone.',
    }),
  })
  .meta({ id: 'Account' });

interface AccountWithRemains extends Account {
  /** How much is left of it, if that was counted. */
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
  remains,
}: AccountWithRemains): z.infer<typeof accountViewSchema> {
  return {
    id,
    ...(name === undefined ? {} : { name }),
    weight,
    ...(quotaBytes === undefined ? {} : { quota_bytes: quotaBytes }),
    ...(historyDays === undefined ? {} : { history_retention: formatHistoryRetention(historyDays) }),
    default_signing: defaultSigning,
    ...(cloudEventsSource === undefined ? {} : { cloudevents_source: cloudEventsSource }),
    ...(endpointVerification === undefined ? {} : { endpoint_verification: endpointVerification }),
    status: erasingSince === undefined ? 'active' : 'erasing',
    created_at: formatTime(createdAt),
    ...(erasingSince === undefined ? {} : { erasure: presentErasure(erasingSince, remains) }),
  };
}

function presentErasure(erasingSince: number, remains: Remains | undefined) {
  return {
    requested_at: formatTime(erasingSince),
    ...(remains === undefined ? {} : { webhooks_left: remains.endpoints, events_left: remains.events }),
  };
}
