import { Gauge, type Registry } from 'prom-client';
import type { QuotaStandings } from '../accounts/account-quota';

/** Shows how accounts stand, as far as this process knows: it costs nothing to ask. */
export function registerPromAccountQuota(registry: Registry, standings: () => QuotaStandings): void {
  const help =
    'Accounts that this process heard of within the last hour. Each process has its own: aggregate with max, not sum.';
  registry.registerMetric(
    gaugeOf('webhooks_accounts_used_bytes', `Bytes that are stored. ${help}`, () => standings().usedBytes),
  );
  registry.registerMetric(
    gaugeOf(
      'webhooks_accounts_near_quota',
      `Those that store 80 % or more of what they may. ${help}`,
      () => standings().near,
    ),
  );
  registry.registerMetric(
    gaugeOf(
      'webhooks_accounts_over_quota',
      `Those that store as much as they may. ${help}`,
      () => standings().over,
    ),
  );
}

function gaugeOf(name: string, help: string, read: () => number): Gauge {
  return new Gauge({
    name,
    help,
    registers: [],
    collect() {
      this.set(read());
    },
  });
}
