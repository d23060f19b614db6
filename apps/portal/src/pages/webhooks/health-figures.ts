import type { Health } from '../../api/webhook-queries';
import { locale } from '../../language/language';
import { formatSeconds } from '../operations/format';

type Hour = Health['hours'][number];

const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 2 });
const whole = new Intl.NumberFormat(locale);

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
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 100_000 ? `${(ms / 1_000).toFixed(1)} s` : formatSeconds(ms / 1_000);
}

export function formatCount(count: number): string {
  return whole.format(count);
}
