import type { components } from '@hookferry/client';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { queryKeys } from '../../api/query-keys';
import { usePages } from '../../api/use-pages';
import { Button } from '../../components/button';
import type { Column } from '../../components/data-table';
import { Empty } from '../../components/empty';
import { PagedTable } from '../../components/paged-table';
import { Time } from '../../components/time';
import { PageHeader } from '../page-header';
import { AccountStatus } from './account-status';
import { formatBytes } from './format-bytes';
import { NewAccountDialog } from './new-account-dialog';

type Account = components['schemas']['AccountWithUsage'];

const PAGE_SIZE = 50;

const columns: readonly Column<Account>[] = [
  { id: 'id', header: 'Account', cell: ({ id }) => <Link href={`/accounts/${id}`}>{id}</Link> },
  { id: 'name', header: 'Name', cell: ({ name }) => name ?? '–', from: 'medium' },
  { id: 'status', header: 'Status', width: '104px', cell: (account) => <AccountStatus {...account} /> },
  { id: 'weight', header: 'Weight', width: '80px', cell: ({ weight }) => weight, from: 'medium' },
  { id: 'stored', header: 'Stored', width: '184px', cell: storedOf, from: 'medium' },
  {
    id: 'webhooks',
    header: 'Webhooks',
    width: '96px',
    cell: ({ usage }) => usage?.webhooks ?? '–',
    from: 'wide',
  },
  {
    id: 'created',
    header: 'Created',
    width: '168px',
    cell: ({ created_at: at }) => <Time at={at} form="short" />,
    from: 'wide',
  },
];

/** All accounts of the service, the newest first. */
export function AccountsPage() {
  const api = useApi();
  const [, navigate] = useLocation();
  const [isCreating, setIsCreating] = useState(false);
  const pages = usePages(queryKeys.accounts(), (paging, signal) =>
    ask(
      api.GET('/v1/accounts', {
        params: { query: { limit: PAGE_SIZE, include: 'usage', ...paging } },
        signal,
      }),
    ),
  );
  return (
    <>
      <PageHeader title="Accounts">
        <Button kind="primary" onClick={() => setIsCreating(true)}>
          New account
        </Button>
      </PageHeader>
      <PagedTable
        label="Accounts"
        columns={columns}
        pages={pages}
        rowId={({ id }) => id}
        onOpen={({ id }) => navigate(`/accounts/${id}`)}
        empty={<Empty title="No accounts" />}
      />
      {isCreating && <NewAccountDialog onClose={() => setIsCreating(false)} />}
    </>
  );
}

/** An account that is being erased has none. */
function storedOf({ usage }: Account): string {
  if (!usage) return '–';
  const used = formatBytes(usage.used_bytes);
  return usage.quota_bytes === null ? used : `${used} of ${formatBytes(usage.quota_bytes)}`;
}
