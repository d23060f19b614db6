import { useCallback, useState } from 'react';
import { useSearchParams } from 'wouter';
import { type AuditEntry, useAuditLog } from '../../api/audit-queries';
import { type Column, timeWidth } from '../../components/data-table';
import { Empty } from '../../components/empty';
import { PagedTable } from '../../components/paged-table';
import { Time } from '../../components/time';
import { useCan, useSession } from '../../session/session-context';
import { PageHeader } from '../page-header';
import { AuditFilters, type AuditFilterTexts, readFilters, writeFilters } from './audit-filters';
import { actionText, actorText, changedText } from './audit-texts';
import { EntryDialog } from './entry-dialog';
import { OutcomeBadge } from './outcome-badge';

const columns: readonly Column<AuditEntry>[] = [
  {
    id: 'at',
    header: 'When',
    width: timeWidth('10rem'),
    cell: ({ created_at: at }) => <Time at={at} form="short" />,
  },
  { id: 'actor', header: 'Who', cell: ({ actor }) => actorText(actor), from: 'medium' },
  { id: 'action', header: 'What', cell: ({ action }) => actionText(action) },
  { id: 'target', header: 'On which', cell: ({ target }) => target?.id ?? '–', from: 'wide' },
  { id: 'outcome', header: 'Outcome', width: '7rem', cell: (entry) => <OutcomeBadge entry={entry} /> },
  { id: 'changed', header: 'Changed', cell: (entry) => changedText(entry) || '–', from: 'wide' },
  { id: 'address', header: 'From where', width: '9rem', cell: ({ address }) => address ?? '–', from: 'wide' },
];
const withAccount: readonly Column<AuditEntry>[] = [
  ...columns.slice(0, 1),
  {
    id: 'account',
    header: 'Account',
    width: '8rem',
    cell: ({ account_id: id }) => id ?? '–',
    from: 'medium',
  },
  ...columns.slice(1),
];

/** The audit log. The filters are in the address. */
export function AuditLogPage() {
  const [search, setSearch] = useSearchParams();
  const { accountId: own } = useSession();
  const isOperator = useCan('operate');
  const [opened, setOpened] = useState<AuditEntry>();
  const close = useCallback(() => setOpened(undefined), []);
  const texts = readFilters(search);
  const ofAll = isOperator && texts.accounts === 'all';
  const pages = useAuditLog(filtersOf(texts), ofAll ? own : undefined);
  return (
    <>
      <PageHeader title="Audit log" />
      <AuditFilters
        texts={texts}
        isOperator={isOperator}
        onChange={(changed) => setSearch(writeFilters(changed), { replace: true })}
      />
      <PagedTable
        label="Audit log"
        columns={ofAll ? withAccount : columns}
        pages={pages}
        rowId={({ id }) => id}
        marked={search.get('row') ?? undefined}
        onOpen={setOpened}
        empty={
          <Empty title="No entries">
            <p>No change matches these filters, or it is no longer kept.</p>
          </Empty>
        }
      />
      {opened && (
        <EntryDialog
          entry={opened}
          logOf={(filter, value) => {
            const { accounts } = texts;
            const only = { ...readFilters(new URLSearchParams()), accounts, [filter]: value };
            return `/audit-log?${writeFilters(only)}`;
          }}
          onClose={close}
        />
      )}
    </>
  );
}

/** The filters. Invalid texts, as in an address that somebody typed, are ignored. */
function filtersOf({ actor, action, target, since, until }: AuditFilterTexts) {
  return {
    ...(actor !== '' && { actor }),
    ...(ACTION.test(action) && { action }),
    ...(target !== '' && { target }),
    ...(isTime(since) && { since }),
    ...(isTime(until) && { until }),
  };
}

const ACTION = /^[a-z_]+\.([a-z_]+|\*)$/;
const isTime = (text: string) => !Number.isNaN(Date.parse(text));
