import type { components } from '@hookferry/client';
import { useQuery } from '@tanstack/react-query';
import { useApi } from './api-context';
import { ask } from './ask';
import { queryKeys } from './query-keys';
import { usePages } from './use-pages';

export type AuditEntry = components['schemas']['AuditEntry'];
export type AuditActor = components['schemas']['AuditActor'];

export interface AuditFilters {
  readonly actor?: string;
  readonly action?: string;
  readonly target?: string;
  /** RFC 3339 */
  readonly since?: string;
  readonly until?: string;
}

const PAGE_SIZE = 50;
const LAST = 5;

/**
 * The audit log, page by page, the newest entry first.
 * @param operator the operator's own account, to see the logs of all accounts; undefined: that of the account in view
 */
export function useAuditLog(filters: AuditFilters, operator: string | undefined) {
  const api = useApi();
  return usePages(queryKeys.auditLog({ ...filters, operator }), (paging, signal) => {
    const all = operator === undefined ? {} : { account_id: '*' as const };
    // Nobody sees all accounts on behalf of another one.
    const header = operator === undefined ? {} : { 'X-Account-Id': operator };
    const query = { ...filters, ...all, limit: PAGE_SIZE, ...paging };
    return ask(api.GET('/v1/audit-log', { params: { query, header }, signal }));
  });
}

/** The last entries about one thing. */
export function useChanges(target: string, isAllowed: boolean) {
  const api = useApi();
  return useQuery({
    enabled: isAllowed,
    queryKey: queryKeys.auditLog({ target, limit: LAST }),
    // Others change it too, and no stream tells of that.
    staleTime: 0,
    queryFn: async ({ signal }) => {
      const params = { query: { target, limit: LAST } };
      return (await ask(api.GET('/v1/audit-log', { params, signal }))).data;
    },
  });
}
