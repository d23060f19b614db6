import type { Clock } from '../kernel/clock';
import { DEFAULT_ACCOUNT } from '../model/account';
import type { AccountStore } from './redis-account-store';

export async function ensureDefaultAccount(
  accountStore: Pick<AccountStore, 'create'>,
  clock: Clock,
): Promise<void> {
  await accountStore.create({ id: DEFAULT_ACCOUNT, createdAt: clock() });
}
