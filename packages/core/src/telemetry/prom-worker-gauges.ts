import type { Registry } from 'prom-client';
import type { EndpointLimit } from '../admission/concurrency';
import type { Slots } from '../admission/slots';
import type { LargestShares } from './account-shares';
import { gaugeDefinition, one, registerPromGauge, type Sample } from './prom-gauges';

const budgets = ['quick', 'slow'] as const;
const quantiles = [0.5, 0.9, 1] as const;

const slotsInUse = gaugeDefinition(
  'webhooks_slots_in_use',
  'Attempts that are under way, by budget: those that have just begun (quick), and those that take longer than 250 ms (slow).',
  { budget: budgets },
);
const slotsAllowed = gaugeDefinition(
  'webhooks_slots',
  'Attempts that may be under way, by budget. There are fewer quick ones while the process is late.',
  { budget: budgets },
);
const endpointLimit = gaugeDefinition(
  'webhooks_endpoint_concurrency_limit',
  'How many attempts a webhook may have under way in this worker: quantiles over the webhooks that have any under way (1: the most that one may have). Missing when there are none.',
  { quantile: quantiles.map(String) },
);
const endpointsAtLimit = gaugeDefinition(
  'webhooks_endpoints_at_limit',
  'Webhooks that have as many attempts under way in this worker as they may.',
);
const accountsShare = gaugeDefinition(
  'webhooks_largest_accounts_share',
  'Share of the attempts of the last one to two minutes that the largest account had, or the ten largest together: 0 to 1. Each worker counts its own: aggregate with avg or max. Missing when there were none.',
  { accounts: ['1', '10'] },
);

/** What a worker shows of itself beside what each process does. */
export const workerGauges = [slotsInUse, slotsAllowed, endpointLimit, endpointsAtLimit, accountsShare];

export interface WorkerGaugeSources {
  readonly slots: Pick<Slots, 'inUse' | 'allowed'>;
  readonly readLimits: () => readonly EndpointLimit[];
  readonly largestShares: () => LargestShares | undefined;
}

export function registerPromWorkerGauges(
  registry: Registry,
  { slots, readLimits, largestShares }: WorkerGaugeSources,
): void {
  const byBudget = (numbers: Readonly<Record<(typeof budgets)[number], number>>) =>
    budgets.map((budget) => ({ labels: { budget }, value: numbers[budget] }));
  registerPromGauge(registry, slotsInUse, async () => byBudget(slots.inUse));
  registerPromGauge(registry, slotsAllowed, async () => byBudget(slots.allowed));
  registerPromGauge(registry, endpointLimit, async () => quantilesOf(readLimits().map(({ limit }) => limit)));
  registerPromGauge(registry, endpointsAtLimit, async () =>
    one(readLimits().filter(({ limit, underWay }) => underWay >= limit).length),
  );
  registerPromGauge(registry, accountsShare, async () => {
    const shares = largestShares();
    if (!shares) return [];
    return [
      { labels: { accounts: '1' }, value: shares.largest },
      { labels: { accounts: '10' }, value: shares.tenLargest },
    ];
  });
}

/** By the nearest rank: each is a limit that some endpoint has. */
function quantilesOf(limits: readonly number[]): readonly Sample[] {
  const sorted = limits.toSorted((a, b) => a - b);
  return quantiles.flatMap((quantile) => {
    const value = sorted[Math.ceil(quantile * sorted.length) - 1];
    return value === undefined ? [] : [{ labels: { quantile: String(quantile) }, value }];
  });
}
