import type { Registry } from 'prom-client';
import type { Slots } from '../admission/slots';
import type { LargestShares } from './account-shares';
import { gaugeDefinition, registerPromGauge } from './prom-gauges';

const budgets = ['quick', 'slow'] as const;

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
const accountsShare = gaugeDefinition(
  'webhooks_largest_accounts_share',
  'Share of the attempts of the last one to two minutes that the largest account had, or the ten largest together: 0 to 1. Each worker counts its own: aggregate with avg or max. Missing when there were none.',
  { accounts: ['1', '10'] },
);

/** What a worker shows of itself beside what each process does. */
export const workerGauges = [slotsInUse, slotsAllowed, accountsShare];

export interface WorkerGaugeSources {
  readonly slots: Pick<Slots, 'inUse' | 'allowed'>;
  readonly largestShares: () => LargestShares | undefined;
}

export function registerPromWorkerGauges(
  registry: Registry,
  { slots, largestShares }: WorkerGaugeSources,
): void {
  const byBudget = (numbers: Readonly<Record<(typeof budgets)[number], number>>) =>
    budgets.map((budget) => ({ labels: { budget }, value: numbers[budget] }));
  registerPromGauge(registry, slotsInUse, async () => byBudget(slots.inUse));
  registerPromGauge(registry, slotsAllowed, async () => byBudget(slots.allowed));
  registerPromGauge(registry, accountsShare, async () => {
    const shares = largestShares();
    if (!shares) return [];
    return [
      { labels: { accounts: '1' }, value: shares.largest },
      { labels: { accounts: '10' }, value: shares.tenLargest },
    ];
  });
}
