import { t } from '@lingui/core/macro';
import { useQuery } from '@tanstack/react-query';
import { useApi } from '../api/api-context';
import { ask } from '../api/ask';
import { queryKeys } from '../api/query-keys';
import styles from './account-switcher.module.css';
import { useSession, useSessionState, useSessionStore } from './session-context';

// The newest; the page of all accounts leads to the others.
const OFFERED = 100;

/** For operators: whose webhooks the pages show. */
export function AccountSwitcher() {
  const state = useSessionState();
  const { accountId: own } = useSession();
  const store = useSessionStore();
  const offered = useOfferedAccounts();
  const inView = 'accountInView' in state ? state.accountInView : undefined;
  const ids = new Set([own, ...(inView === undefined ? [] : [inView]), ...offered]);
  return (
    <select
      aria-label={t`Account in view`}
      className={`${styles['switcher']} ${inView === undefined ? '' : styles['other']}`}
      value={inView ?? own}
      disabled={state.kind !== 'active'}
      onChange={({ target }) => store.viewAccount(target.value === own ? undefined : target.value)}
    >
      {[...ids].map((id) => (
        <option key={id} value={id}>
          {id === own ? t`${id} (own)` : id}
        </option>
      ))}
    </select>
  );
}

function useOfferedAccounts(): readonly string[] {
  const api = useApi();
  const { data } = useQuery({
    queryKey: queryKeys.offeredAccounts(),
    queryFn: ({ signal }) => ask(api.GET('/v1/accounts', { params: { query: { limit: OFFERED } }, signal })),
  });
  return data?.data.filter(({ status }) => status === 'active').map(({ id }) => id) ?? [];
}
