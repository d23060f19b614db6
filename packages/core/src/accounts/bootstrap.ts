import type { Clock } from '../kernel/clock';
import { DEFAULT_ACCOUNT } from '../model/account';
import { type ApiKey, hashKey, idOfKey, scopes } from '../model/api-key';
import type { AccountStore } from './redis-account-store';
import type { ApiKeyStore } from './redis-api-key-store';

/**
 * Creates the key that an operator gave in the environment, with every scope, unless it is there already. One that an
 * earlier version made gets the scopes that have come since.
 */
export async function ensureBootstrapKey(
  key: string,
  apiKeyStore: Pick<ApiKeyStore, 'find' | 'save' | 'remove'>,
  clock: Clock,
): Promise<void> {
  const id = idOfKey(key);
  if (id === undefined) throw new Error('BOOTSTRAP_API_KEY does not have the form of an API key.');
  const sha256 = hashKey(key);
  const stored = await apiKeyStore.find(id);
  if (stored?.sha256 === sha256) {
    if (lacksScopes(stored)) await apiKeyStore.save({ ...stored, scopes });
    return;
  }
  if (stored) await apiKeyStore.remove(stored);
  await apiKeyStore.save({
    id,
    accountId: DEFAULT_ACCOUNT,
    sha256,
    scopes,
    name: BOOTSTRAP,
    createdAt: clock(),
  });
}

const BOOTSTRAP = 'bootstrap';

// One of another name was issued, with the scopes that it was to have.
function lacksScopes({ name, scopes: had }: ApiKey): boolean {
  return name === BOOTSTRAP && scopes.some((scope) => !had.includes(scope));
}

export async function ensureDefaultAccount(
  accountStore: Pick<AccountStore, 'create'>,
  clock: Clock,
): Promise<void> {
  await accountStore.create({ id: DEFAULT_ACCOUNT, createdAt: clock() });
}
