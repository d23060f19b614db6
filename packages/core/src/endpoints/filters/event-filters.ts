import { shorten } from '@hookferry/producer/fault-words';
import { isOperational } from '../../accounts/event-types/built-in';
import { didYouMean, type EventTypes, listNames } from '../../accounts/event-types/event-types';
import type { EventTypeStore } from '../../accounts/event-types/redis-event-type-store';
import type { AccountStore } from '../../accounts/redis-account-store';
import type { AccountId } from '../../domain/account';
import type { Act } from '../../domain/audit';
import type { EndpointId } from '../../domain/endpoint';
import { AppError, invalidRequest } from '../../platform/app-error';
import type { EndpointStore } from '../redis-endpoint-store';

/** The filter for every published event. Operational events need a filter by name. */
export const EVERY_EVENT = '*';

const PREFIX_END = '.*';

/** Whether an endpoint's filter (`*`, `order.*` or a whole name) matches this type. */
export function matchesType(filter: string, type: string): boolean {
  if (filter === EVERY_EVENT) return !isOperational(type);
  if (filter === type) return true;
  return filter.endsWith(PREFIX_END) && type.startsWith(filter.slice(0, -1));
}

/** Whether a filter can match any type of the catalogue. If not, it is a typing error. All types are all, if there are none yet. */
export function isKnownFilter(filter: string, typeNames: readonly string[]): boolean {
  return filter === EVERY_EVENT || typeNames.some((type) => matchesType(filter, type));
}

export interface RemoveEventTypeParts {
  readonly eventTypes: EventTypes;
  readonly eventTypeStore: EventTypeStore;
  readonly accountStore: AccountStore;
  readonly endpointStore: EndpointStore;
}

/** How many of an account's endpoints would be left with a filter that matches nothing. */
interface AccountSubscribers {
  readonly accountId: AccountId;
  readonly count: number;
}

const ACCOUNTS_AT_ONCE = 50;
const ENDPOINTS_AT_ONCE = 250;
const ACCOUNTS_NAMED = 5;

/**
 * Remove an event type that an operator added from the catalogue. Its events stay and are delivered, since a
 * delivery never reads the catalogue. It reads the filters of every endpoint of every account: for operators,
 * and rarely.
 *
 * An endpoint that is registered at this very moment may keep a filter for it: for a type that nobody can
 * publish any more.
 *
 * @throws AppError `not_found`; `conflict` for a built-in type, or one with subscribers whose filter matches
 *   no other type.
 */
export async function removeEventType(parts: RemoveEventTypeParts, name: string, act?: Act): Promise<void> {
  const { eventTypes, eventTypeStore } = parts;
  const { origin } = await eventTypes.read(name);
  if (origin !== 'custom') {
    throw new AppError('conflict', `The event type "${name}" is built in and can't be removed.`);
  }
  const others = (await namesIn(eventTypeStore)).filter((other) => other !== name);
  const isOfNothingElse = (filter: string) => matchesType(filter, name) && !isKnownFilter(filter, others);
  const subscribers = await findSubscribers(parts, isOfNothingElse);
  if (subscribers.length > 0) throw stillAskedFor(name, subscribers);
  await eventTypeStore.remove(name, act);
}

async function findSubscribers(
  { accountStore, endpointStore }: RemoveEventTypeParts,
  isOfNothingElse: (filter: string) => boolean,
): Promise<readonly AccountSubscribers[]> {
  const found: AccountSubscribers[] = [];
  let before: string | undefined;
  do {
    const { accounts, nextCursor } = await accountStore.list(ACCOUNTS_AT_ONCE, before);
    const counted = accounts.map(async ({ id }) => ({
      accountId: id,
      count: await countSubscribers(endpointStore, id, isOfNothingElse),
    }));
    found.push(...(await Promise.all(counted)).filter(({ count }) => count > 0));
    before = nextCursor;
  } while (before !== undefined);
  return found;
}

async function countSubscribers(
  endpointStore: EndpointStore,
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
    `${count === 1 ? '1 webhook gets' : `${count} webhooks get`} "${name}", of ` +
      `${subscribers.length === 1 ? 'the account' : 'the accounts'} ${named.join(', ')}${more}. ` +
      'Change or delete these first, or set `deprecated` instead.',
  );
}

/**
 * Make sure that the event types of an endpoint's filters exist; types that operators added count as well.
 *
 * @throws AppError `invalid_request`, which names the filters without a match.
 */
export async function requireKnownFilters(
  { eventTypeStore }: { readonly eventTypeStore: CatalogueNames },
  filters: readonly string[],
): Promise<void> {
  if (filters.every((filter) => isKnownFilter(filter, eventTypeStore.builtInNames))) return;
  const names = await namesIn(eventTypeStore);
  const validationErrors = filters.flatMap((filter, index) =>
    isKnownFilter(filter, names)
      ? []
      : [{ pointer: `/events/${index}`, detail: describeUnknown(filter, names) }],
  );
  if (validationErrors.length > 0) throw invalidRequest(validationErrors);
}

type CatalogueNames = Pick<EventTypeStore, 'names' | 'builtInNames'>;

async function namesIn(eventTypeStore: CatalogueNames): Promise<readonly string[]> {
  return [...(await eventTypeStore.names()).toSorted(), ...eventTypeStore.builtInNames];
}

function describeUnknown(filter: string, names: readonly string[]): string {
  return (
    `"${shorten(filter)}" is not a known event type${didYouMean(filter, names)}; the known ones are ${listNames(names)}, ` +
    'a prefix of them such as order.*, or * for all'
  );
}
