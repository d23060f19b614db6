import type { Health } from '../../api/webhook-queries';

type Hour = Health['hours'][number];

const percent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 2 });
const whole = new Intl.NumberFormat();

/** Success of each hour from 0 to 1; null where nothing was sent. */
export function rateOf({ successes, failures }: Hour): number | null {
  const attempts = successes + failures;
  return attempts === 0 ? null : successes / attempts;
}

/** Cut, not rounded: 100 % is said only where nothing failed. */
export function formatRate(rate: number | null): string {
  return rate === null ? '–' : percent.format(Math.floor(rate * 10_000) / 10_000);
}

export function formatMs(ms: number | null): string {
  if (ms === null) return '–';
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

export function formatCount(count: number): string {
  return whole.format(count);
}
