import type { AccountStore } from '../accounts/redis-account-store';
import { eventTypeNames } from '../catalogue/built-in/index';
import type { EventTypes } from '../catalogue/event-types';
import type { EventTypeStore } from '../catalogue/redis-event-type-store';
import { isKnownFilter, matchesType } from '../endpoints/event-filter';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { AppError } from '../kernel/app-error';
import type { EndpointId } from '../model/endpoint';
import type { AccountId } from '../model/event';

export interface RemoveEventTypeDeps {
  readonly eventTypes: Pick<EventTypes, 'read'>;
  readonly eventTypeStore: Pick<EventTypeStore, 'names' | 'remove'>;
  readonly accountStore: Pick<AccountStore, 'list'>;
  readonly endpointStore: Pick<EndpointStore, 'listSubscribersByPage'>;
}

/** How many of an account's endpoints would have a filter that matches nothing. */
interface Askers {
  readonly accountId: AccountId;
  readonly count: number;
}

const ACCOUNTS_AT_ONCE = 50;
const ENDPOINTS_AT_ONCE = 250;
const ACCOUNTS_NAMED = 5;

/**
 * Takes an event type that an operator added out of the catalogue. Its events stay, and are delivered, since a delivery never
 * looks at the catalogue. It reads what every endpoint of every account asks for: it is for operators, and now and then.
 *
 * An endpoint that is registered at this very moment may go on asking for it: for what nobody can publish any more.
 *
 * @throws AppError `not_found`; `conflict` for a type that is built in, or that endpoints ask for by a filter that
 *   matches no other type.
 */
export function createRemoveEventType(deps: RemoveEventTypeDeps) {
  const { eventTypes, eventTypeStore, accountStore, endpointStore } = deps;

  return async function removeEventType(name: string): Promise<void> {
    const { origin } = await eventTypes.read(name);
    if (origin !== 'custom') {
      throw new AppError('conflict', `The event type "${name}" is built in and can't be removed.`);
    }
    const others = [...eventTypeNames, ...(await eventTypeStore.names()).filter((other) => other !== name)];
    const askers = await findAskers((filter) => matchesType(filter, name) && !isKnownFilter(filter, others));
    if (askers.length > 0) throw stillAskedFor(name, askers);
    await eventTypeStore.remove(name);
  };

  async function findAskers(isOfNothingElse: (filter: string) => boolean): Promise<readonly Askers[]> {
    const askers: Askers[] = [];
    let before: string | undefined;
    do {
      const { accounts, nextCursor } = await accountStore.list(ACCOUNTS_AT_ONCE, before);
      const counted = accounts.map(async ({ id }) => ({
        accountId: id,
        count: await countAskers(id, isOfNothingElse),
      }));
      askers.push(...(await Promise.all(counted)).filter(({ count }) => count > 0));
      before = nextCursor;
    } while (before !== undefined);
    return askers;
  }

  async function countAskers(accountId: AccountId, isOfNothingElse: (filter: string) => boolean) {
    let count = 0;
    let before: EndpointId | undefined;
    do {
      const page = await endpointStore.listSubscribersByPage(accountId, ENDPOINTS_AT_ONCE, before);
      count += page.subscribers.filter(({ events }) => events.some(isOfNothingElse)).length;
      before = page.nextCursor;
    } while (before !== undefined);
    return count;
  }
}

export type RemoveEventType = ReturnType<typeof createRemoveEventType>;

function stillAskedFor(name: string, askers: readonly Askers[]): AppError {
  const count = askers.reduce((sum, each) => sum + each.count, 0);
  const named = askers.slice(0, ACCOUNTS_NAMED).map(({ accountId }) => accountId);
  const more = askers.length > named.length ? ` and ${askers.length - named.length} more` : '';
  return new AppError(
    'conflict',
    `${count === 1 ? '1 webhook asks' : `${count} webhooks ask`} for "${name}", of ` +
      `${askers.length === 1 ? 'the account' : 'the accounts'} ${named.join(', ')}${more}. ` +
      'Change or delete these first, or set `deprecated` instead.',
  );
}
