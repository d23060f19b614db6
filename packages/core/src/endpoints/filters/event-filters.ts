import type { AccountStore } from '../../accounts/redis-account-store';
import type { AccountId } from '../../domain/account';
import type { EndpointId } from '../../domain/endpoint';
import { eventTypeNames, isOperational } from '../../event-types/built-in';
import { listNames, readEventType } from '../../event-types/event-types';
import type { EventTypeStore } from '../../event-types/redis-event-type-store';
import { AppError, invalidRequest, shorten } from '../../platform/app-error';
import type { EndpointStore } from '../redis-endpoint-store';

/** The filter that asks for everything that is published; what this service itself tells is asked for by name. */
export const EVERY_EVENT = '*';

/** For the descriptions of filters. What is of another form asks for nothing, and is refused as unknown. */
export const FILTER_FORM = {
  pattern: '^([*]|[a-z][a-z0-9_]*([.][a-z][a-z0-9_]*)*[.][*]|[a-z][a-z0-9_]*([.][a-z][a-z0-9_]*)+)$',
  maxLength: 102,
};

const PREFIX_END = '.*';

/** Whether an endpoint's filter (`*`, `keyword.*` or a whole name) asks for events of this type. */
export function matchesType(filter: string, type: string): boolean {
  if (filter === EVERY_EVENT) return !isOperational(type);
  if (filter === type) return true;
  return filter.endsWith(PREFIX_END) && type.startsWith(filter.slice(0, -1));
}

/** Whether a filter can match anything out of the catalogue; one that can't is a slip of the pen. */
export function isKnownFilter(filter: string, typeNames: readonly string[]): boolean {
  return typeNames.some((type) => matchesType(filter, type));
}

export interface RemoveEventTypeContext {
  readonly eventTypeStore: Pick<EventTypeStore, 'find' | 'names' | 'remove'>;
  readonly accountStore: Pick<AccountStore, 'list'>;
  readonly endpointStore: Pick<EndpointStore, 'listSubscribersByPage'>;
}

/** How many of an account's endpoints would have a filter that matches nothing. */
interface AccountSubscribers {
  readonly accountId: AccountId;
  readonly count: number;
}

const ACCOUNTS_AT_ONCE = 50;
const ENDPOINTS_AT_ONCE = 250;
const ACCOUNTS_NAMED = 5;

/**
 * Take an event type that an operator added out of the catalogue. Its events stay, and are delivered, since a delivery never
 * looks at the catalogue. It reads what every endpoint of every account asks for: it is for operators, and now and then.
 *
 * An endpoint that is registered at this very moment may go on asking for it: for what nobody can publish any more.
 *
 * @throws AppError `not_found`; `conflict` for a type that is built in, or that endpoints ask for by a filter that
 *   matches no other type.
 */
export async function removeEventType(context: RemoveEventTypeContext, name: string): Promise<void> {
  const { eventTypeStore } = context;
  const { origin } = await readEventType(context, name);
  if (origin !== 'custom') {
    throw new AppError('conflict', `The event type "${name}" is built in and can't be removed.`);
  }
  const others = [...eventTypeNames, ...(await eventTypeStore.names()).filter((other) => other !== name)];
  const isOfNothingElse = (filter: string) => matchesType(filter, name) && !isKnownFilter(filter, others);
  const subscribers = await findSubscribers(context, isOfNothingElse);
  if (subscribers.length > 0) throw stillAskedFor(name, subscribers);
  await eventTypeStore.remove(name);
}

async function findSubscribers(
  context: RemoveEventTypeContext,
  isOfNothingElse: (filter: string) => boolean,
): Promise<readonly AccountSubscribers[]> {
  const found: AccountSubscribers[] = [];
  let before: string | undefined;
  do {
    const { accounts, nextCursor } = await context.accountStore.list(ACCOUNTS_AT_ONCE, before);
    const counted = accounts.map(async ({ id }) => ({
      accountId: id,
      count: await countSubscribers(context, id, isOfNothingElse),
    }));
    found.push(...(await Promise.all(counted)).filter(({ count }) => count > 0));
    before = nextCursor;
  } while (before !== undefined);
  return found;
}

async function countSubscribers(
  { endpointStore }: RemoveEventTypeContext,
  accountId: AccountId,
  isOfNothingElse: (filter: string) => boolean,
): Promise<number> {
  let count = 0;
  let before: EndpointId | undefined;
  do {
    const page = await endpointStore.listSubscribersByPage(accountId, ENDPOINTS_AT_ONCE, before);
    count += page.subscribers.filter(({ events }) => events.some(isOfNothingElse)).length;
    before = page.nextCursor;
  } while (before !== undefined);
  return count;
}

function stillAskedFor(name: string, subscribers: readonly AccountSubscribers[]): AppError {
  const count = subscribers.reduce((sum, each) => sum + each.count, 0);
  const named = subscribers.slice(0, ACCOUNTS_NAMED).map(({ accountId }) => accountId);
  const more = subscribers.length > named.length ? ` and ${subscribers.length - named.length} more` : '';
  return new AppError(
    'conflict',
    `${count === 1 ? '1 webhook asks' : `${count} webhooks ask`} for "${name}", of ` +
      `${subscribers.length === 1 ? 'the account' : 'the accounts'} ${named.join(', ')}${more}. ` +
      'Change or delete these first, or set `deprecated` instead.',
  );
}

export interface KnownFiltersContext {
  readonly eventTypeStore: Pick<EventTypeStore, 'names'>;
}

/**
 * Make sure that there are event types that an endpoint asks for; types that operators added count as well.
 *
 * @throws AppError `invalid_request`, which names the filters that match none.
 */
export async function requireKnownFilters(
  { eventTypeStore }: KnownFiltersContext,
  filters: readonly string[],
): Promise<void> {
  if (filters.every((filter) => isKnownFilter(filter, eventTypeNames))) return;
  const names = [...eventTypeNames, ...(await eventTypeStore.names()).toSorted()];
  const validationErrors = filters.flatMap((filter, index) =>
    isKnownFilter(filter, names)
      ? []
      : [{ pointer: `/events/${index}`, detail: describeUnknown(filter, names) }],
  );
  if (validationErrors.length > 0) throw invalidRequest(validationErrors);
}

function describeUnknown(filter: string, names: readonly string[]): string {
  return (
    `"${shorten(filter)}" is not a known event type; known are ${listNames(names)}, ` +
    'a prefix of them such as keyword.*, or * for all'
  );
}
