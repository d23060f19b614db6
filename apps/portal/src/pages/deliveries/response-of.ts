import type { AttemptOutcome, Delivery } from '../../api/delivery-queries';
import { outcomes } from './words';

/** The last response, or the reason why there was none; undefined before the first attempt. */
export function responseOf(row: {
  readonly last_outcome: AttemptOutcome;
  readonly last_response_status: number | null;
}): string;
export function responseOf(row: Pick<Delivery, 'last_outcome' | 'last_response_status'>): string | undefined;
export function responseOf(row: Pick<Delivery, 'last_outcome' | 'last_response_status'>): string | undefined {
  if (row.last_response_status !== null) return `HTTP ${row.last_response_status}`;
  return row.last_outcome === null ? undefined : outcomes[row.last_outcome];
}
