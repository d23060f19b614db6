import type { Health } from '../../api/webhook-queries';
import { formatPercent } from '../../language/formats';

type Hour = Health['hours'][number];

/** Success of each hour from 0 to 1; null where nothing was sent. */
export function rateOf({ successes, failures }: Hour): number | null {
  const attempts = successes + failures;
  return attempts === 0 ? null : successes / attempts;
}

/** Cut, not rounded: 100 % is said only where nothing failed. The API cuts its rates in the same way. */
export function formatRate(rate: number | null): string {
  return rate === null ? '–' : formatPercent(Math.floor(rate * 10_000 + INEXACT) / 10_000, 2);
}

// 0.57 × 10,000 is a little less than 5,700.
const INEXACT = 1e-6;

// One of a hundred attempts fails at good receivers, too.
const LEAST_RATE = 0.95;

/** Whether a rate of success is not well. */
export function isLow(rate: number | null): boolean {
  return rate !== null && rate < LEAST_RATE;
}
