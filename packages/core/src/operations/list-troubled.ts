import type { AccountId } from '../domain/account';
import { phaseOf } from '../domain/breaker';
import { type DisabledReason, decodeAddress, type Endpoint, type EndpointId } from '../domain/endpoint';
import type { AdmissionStore } from '../endpoints/flow/redis-admission-store';
import type { OpenBreakers } from '../endpoints/flow/redis-open-breakers';
import type { DisabledEndpoints } from '../endpoints/redis-disabled-endpoints';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { isUnreadableSecret } from '../endpoints/seal';
import { type Page, SCANNED_ONE_BY_ONE, scanPage } from '../platform/batches';
import type { Clock } from '../platform/clock';
import type { Mark } from '../platform/redis-timeline';

/** What may keep an endpoint from getting its deliveries for longer. */
export const troubles = ['breaker_open', 'disabled'] as const;
export type Trouble = (typeof troubles)[number];

/** An endpoint in such a state. */
export interface TroubledEndpoint {
  readonly accountId: AccountId;
  readonly endpointId: EndpointId;
  /** `undefined`: its record can't be read. */
  readonly url: string | undefined;
  readonly trouble: Trouble;
  /** Why it is disabled; of a breaker it is always that attempts have failed. */
  readonly disabledReason: DisabledReason | undefined;
  /** How many attempts in a row have failed, of a breaker. */
  readonly failures: number | undefined;
  /** Since when it is disabled, or fails; `undefined` where that is not on record. */
  readonly since: number | undefined;
}

export interface ListTroubledDeps {
  readonly disabledEndpoints: Pick<DisabledEndpoints, 'list'>;
  readonly openBreakers: Pick<OpenBreakers, 'list'>;
  readonly endpointStore: Pick<EndpointStore, 'find'>;
  readonly admissionStore: Pick<AdmissionStore, 'readFailing'>;
  readonly clock: Clock;
}

/** Endpoints of all accounts that are in trouble, for operators, by the indexes that there are of them. */
export function createListTroubled(deps: ListTroubledDeps) {
  const { disabledEndpoints, openBreakers, endpointStore, admissionStore, clock } = deps;

  /** Disabled ones: those disabled last first. Open breakers: those first that stay open for the longest. */
  return async function listTroubled(
    trouble: Trouble,
    limit: number,
    before?: Mark,
  ): Promise<Page<TroubledEndpoint, Mark>> {
    const now = clock();
    return await scanPage({
      limit,
      before,
      mostScanned: SCANNED_ONE_BY_ONE,
      readBatch: async (size, from: Mark | undefined) => {
        const more = size + 1;
        const found =
          trouble === 'disabled'
            ? await disabledEndpoints.list(more, from)
            : await openBreakers.list(now, more, from);
        const entries = found.slice(0, size);
        return { entries, nextCursor: found.length > size ? entries.at(-1) : undefined };
      },
      cursorOf: (mark) => mark,
      show: (mark) => (trouble === 'disabled' ? showDisabled(mark) : showBreaker(mark)),
    });
  };

  // An index may have one too many, which its own record tells.
  async function showDisabled({ id, at }: Mark): Promise<TroubledEndpoint | undefined> {
    const address = decodeAddress(id);
    const endpoint = await find(address.accountId, address.endpointId);
    if (!endpoint || endpoint.status === 'enabled') return undefined;
    const { url, disabledReason } = endpoint;
    return { ...address, url, trouble: 'disabled', disabledReason, failures: undefined, since: at };
  }

  async function showBreaker({ id }: Mark): Promise<TroubledEndpoint | undefined> {
    const address = decodeAddress(id);
    const [endpoint, breaker] = await Promise.all([
      find(address.accountId, address.endpointId),
      admissionStore.readFailing(address.endpointId),
    ]);
    if (!endpoint || phaseOf(breaker, clock()) === 'closed') return undefined;
    const { failures, failingSince: since } = breaker;
    return {
      ...address,
      url: endpoint.url,
      trouble: 'breaker_open',
      disabledReason: undefined,
      failures,
      since,
    };
  }

  async function find(accountId: AccountId, id: EndpointId): Promise<Partial<Endpoint> | undefined> {
    return await endpointStore.find(accountId, id).catch((error: unknown) => {
      if (isUnreadableSecret(error)) return {};
      throw error;
    });
  }
}

export type ListTroubled = ReturnType<typeof createListTroubled>;
