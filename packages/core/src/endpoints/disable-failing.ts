import type { Clock } from '../kernel/clock';
import type { Endpoint } from '../model/endpoint';
import { type Disable, wasNotEnabledSince } from './disable';
import { type DisablePolicy, hasFailedForTooLong, isSpanOver } from './disable-policy';
import type { HealthStore } from './redis-health-store';

export interface DisableFailingDeps {
  readonly healthStore: Pick<HealthStore, 'readLastSuccess'>;
  readonly disable: Disable;
  /** `never`: such endpoints are tried without end. */
  readonly policy: DisablePolicy | 'never';
  readonly clock: Clock;
}

/**
 * Gives an endpoint up whose attempt has just failed, if it has failed for too long; gives whether it did. Costs
 * nothing at an endpoint that began to fail a short while ago.
 */
export function createDisableFailing({ healthStore, disable, policy, clock }: DisableFailingDeps) {
  return async function disableFailing(endpoint: Endpoint, failingSince: number): Promise<boolean> {
    const now = clock();
    if (policy === 'never' || !isSpanOver(policy, { failingSince, now })) return false;
    const lastSuccessAt = await healthStore.readLastSuccess(endpoint.id);
    const enabledAt = endpoint.enabledAt ?? endpoint.createdAt;
    if (!hasFailedForTooLong(policy, { failingSince, lastSuccessAt, enabledAt, now })) return false;
    const { accountId, id } = endpoint;
    return (await disable(accountId, id, 'failing', wasNotEnabledSince(endpoint))).hasChanged;
  };
}

export type DisableFailing = ReturnType<typeof createDisableFailing>;
