import { t } from '@lingui/core/macro';
import { useMemo } from 'react';
import { useSearchParams } from 'wouter';
import { type AuditEntry, useAuditLog } from '../../api/audit-queries';
import { AGO_WIDTH, type Column } from '../../components/data-table';
import { Empty } from '../../components/empty';
import { PagedTable } from '../../components/paged-table';
import { ShortId } from '../../components/short-id';
import { Time } from '../../components/time';
import { useCan, useSession } from '../../session/session-context';
import { useWebhookNames } from '../deliveries/use-webhook-names';
import { PageHeader } from '../page-header';
import { AuditFilters, type AuditFilterTexts, readFilters, writeFilters } from './audit-filters';
import { actionText, actorText, changedText, keyNamesOf } from './audit-texts';
import { EntryDialog } from './entry-dialog';
import { OutcomeBadge } from './outcome-badge';

/** @param names of webhooks and API keys, by id */
function columnsWith(names: ReadonlyMap<string, string>, ofAll: boolean): readonly Column<AuditEntry>[] {
  const account: Column<AuditEntry> = {
    id: 'account',
    header: t`Account`,
    width: '8rem',
    cell: ({ account_id: id }) => id ?? '–',
    from: 'medium',
  };
  return [
    {
      id: 'at',
      header: t`When`,
      width: AGO_WIDTH,
      cell: ({ created_at: at }) => <Time at={at} form="ago" />,
    },
    ...(ofAll ? [account] : []),
    { id: 'actor', header: t`Who`, cell: ({ actor }) => actorText(actor), from: 'medium' },
    {
      id: 'action',
      header: t`What`,
      isName: true,
      cell: ({ action }) => actionText(action),
      second: ({ actor }) => actorText(actor),
    },
    {
      id: 'target',
      header: t`Target`,
      cell: ({ target }) => (target ? (names.get(target.id) ?? <ShortId id={target.id} />) : '–'),
      from: 'wide',
    },
    { id: 'outcome', header: t`Outcome`, width: '7rem', cell: (entry) => <OutcomeBadge entry={entry} /> },
    { id: 'changed', header: t`Changed`, cell: (entry) => changedText(entry) || '–', from: 'wide' },
    {
      id: 'address',
      header: t`Address`,
      width: '9rem',
      cell: ({ address }) => address ?? '–',
      from: 'wide',
    },
  ];
}

/** The audit log. The filters are in the address. */
export function AuditLogPage() {
  const [search, setSearch] = useSearchParams();
  const { accountId: own } = useSession();
  const isOperator = useCan('operate');
  const texts = readFilters(search);
  const [row, opened] = ['row', 'entry'].map((name) => search.get(name) ?? undefined);
  const ofAll = isOperator && texts.accounts === 'all';
  const pages = useAuditLog(filtersOf(texts), ofAll ? own : undefined);
  const webhookNames = useWebhookNames();
  const names = useMemo(
    () => new Map([...webhookNames, ...keyNamesOf(pages.rows ?? [])]),
    [webhookNames, pages.rows],
  );
  const entry = pages.rows?.find(({ id }) => id === opened);
  const close = () => setSearch(addressOf(texts, { row }), { replace: true });
  const columns = useMemo(() => columnsWith(names, ofAll), [names, ofAll]);
  return (
    <>
      <PageHeader title={t`Audit log`} />
      <AuditFilters
        texts={texts}
        isOperator={isOperator}
        onChange={(changed) => setSearch(writeFilters(changed), { replace: true })}
      />
      <PagedTable
        label={t`Audit log`}
        columns={columns}
        pages={pages}
        rowId={({ id }) => id}
        // One that is opened is looked for first; its dialog has the focus then.
        marked={entry ? row : (opened ?? row)}
        hrefOf={({ id }) => `/audit-log?${addressOf(texts, { row, entry: id })}`}
        empty={
          <Empty title={t`No entries`}>
            <p>{t`No change matches these filters, or it is no longer kept.`}</p>
          </Empty>
        }
      />
      {entry && (
        <EntryDialog
          entry={entry}
          names={names}
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

/** @param places of entries: the marked one, and the open one */
function addressOf(
  texts: AuditFilterTexts,
  places: Readonly<Record<string, string | undefined>>,
): URLSearchParams {
  const address = writeFilters(texts);
  for (const [name, id] of Object.entries(places)) if (id !== undefined) address.set(name, id);
  return address;
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
