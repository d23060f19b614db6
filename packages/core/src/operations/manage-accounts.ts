import type { Account } from '../domain/account';
import type { Remains, RemainsStore } from './redis-remains-store';

/** Read how much is left of an account that is being erased; `undefined` for any other. */
export async function readRemains(
  { remainsStore }: { readonly remainsStore: RemainsStore },
  { id, erasingSince }: Account,
): Promise<Remains | undefined> {
  return erasingSince === undefined ? undefined : await remainsStore.count(id);
}
