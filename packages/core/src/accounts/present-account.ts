import { formatTime } from '../runtime/clock';
import type { Account } from './account';

/** An account as the API and the command line show it. */
export function presentAccount({ id, name, createdAt }: Account) {
  return { id, ...(name === undefined ? {} : { name }), created_at: formatTime(createdAt) };
}
