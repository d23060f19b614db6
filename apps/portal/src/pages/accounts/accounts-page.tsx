import type { components } from '@hookferry/client';
import { plural, t } from '@lingui/core/macro';
import { useState } from 'react';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { queryKeys } from '../../api/query-keys';
import { usePages } from '../../api/use-pages';
import { Button } from '../../components/button';
import { AGO_WIDTH, type Column } from '../../components/data-table';
import { Empty } from '../../components/empty';
import { PagedTable } from '../../components/paged-table';
import { ShortId } from '../../components/short-id';
import { Time } from '../../components/time';
import { formatBytes } from '../../language/formats';
import { PageHeader } from '../page-header';
import { AccountStatus } from './account-status';
import { NewAccountDialog } from './new-account-dialog';

type Account = components['schemas']['AccountWithUsage'];

const PAGE_SIZE = 50;

const columns: readonly Column<Account>[] = [
  { id: 'name', header: t`Account`, cell: ({ id, name }) => name ?? id, second: usageText },
  { id: 'id', header: t`Id`, cell: ({ id }) => <ShortId id={id} />, from: 'medium' },
  { id: 'status', header: t`Status`, width: '104px', cell: (account) => <AccountStatus {...account} /> },
  { id: 'weight', header: t`Weight`, width: '80px', cell: ({ weight }) => weight, from: 'medium' },
  { id: 'stored', header: t`Stored`, width: '184px', cell: storedOf, from: 'medium' },
  {
    id: 'webhooks',
    header: t`Webhooks`,
    width: '96px',
    cell: ({ usage }) => usage?.webhooks ?? '–',
    from: 'wide',
  },
  {
    id: 'created',
    header: t`Created`,
    width: AGO_WIDTH,
    cell: ({ created_at: at }) => <Time at={at} form="ago" />,
    from: 'wide',
  },
];

/** All accounts of the service, the newest first. */
export function AccountsPage() {
  const api = useApi();
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
      <PageHeader title={t`Accounts`}>
        <Button kind="primary" onClick={() => setIsCreating(true)}>
          {t`New account`}
        </Button>
      </PageHeader>
      <PagedTable
        label={t`Accounts`}
        columns={columns}
        pages={pages}
        rowId={({ id }) => id}
        hrefOf={({ id }) => `/accounts/${id}`}
        empty={<Empty title={t`No accounts`} />}
      />
      {isCreating && <NewAccountDialog onClose={() => setIsCreating(false)} />}
    </>
  );
}

/** On phones, where the columns of usage have no room. */
function usageText(account: Account): string {
  const { usage } = account;
  if (!usage) return '–';
  const webhooks = plural(usage.webhooks, { one: '# webhook', other: '# webhooks' });
  return `${storedOf(account)} · ${webhooks}`;
}

/** An account that is being erased has none. */
function storedOf({ usage }: Account): string {
  if (!usage) return '–';
  const used = formatBytes(usage.used_bytes);
  if (usage.quota_bytes === null) return used;
  const quota = formatBytes(usage.quota_bytes);
  return t`${used} of ${quota}`;
}
