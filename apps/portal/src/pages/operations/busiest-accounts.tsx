import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Link } from 'wouter';
import { type Column, DataTable } from '../../components/data-table';
import { Section } from '../../components/section';
import { formatCount, formatMs, formatPercent } from '../../language/formats';
import { type Operations, readingOf } from './operations';
import styles from './operations.module.css';
import { PauseSwitch } from './pausing';

type BusyAccount = Operations['busiest_accounts'][number];

export interface BusiestAccountsProps {
  readonly operations: Operations;
}

/** The accounts with most waiting, and each one's wait: a burst of one account must not delay the others. */
export function BusiestAccounts({ operations }: BusiestAccountsProps) {
  const { waiting, oldestWaitingSeconds } = readingOf(operations);
  const oldest = formatMs(1_000 * oldestWaitingSeconds);
  const accounts = operations.busiest_accounts;
  return (
    <Section title={t`Accounts with most waiting`}>
      <p className={styles['note']}>
        {accounts.length === 0 ? (
          <Trans>No account has deliveries that wait for a worker.</Trans>
        ) : (
          <Trans>
            The oldest job has waited for {oldest}. Accounts take turns by their weights, so an account with
            many waiting deliveries does not delay the others.
          </Trans>
        )}
      </p>
      {accounts.length > 0 && (
        <DataTable
          label={t`Accounts with most waiting`}
          columns={columnsWith(
            waiting,
            operations.paused_accounts.map(({ account_id: id }) => id),
          )}
          rows={accounts}
          rowId={({ account_id: id }) => id}
        />
      )}
    </Section>
  );
}

function columnsWith(allWaiting: number, paused: readonly string[]): readonly Column<BusyAccount>[] {
  return [
    {
      id: 'account',
      header: t`Account`,
      cell: ({ account_id: id }) => <Link href={`/accounts/${id}`}>{id}</Link>,
    },
    { id: 'waiting', header: t`Waiting`, width: '96px', cell: ({ waiting }) => formatCount(waiting) },
    {
      id: 'share',
      header: t`Share`,
      width: '80px',
      cell: ({ waiting }) => formatPercent(waiting / Math.max(allWaiting, 1)),
    },
    { id: 'weight', header: t`Weight`, width: '72px', cell: ({ weight }) => weight, from: 'medium' },
    {
      id: 'pause',
      header: t`Actions`,
      width: '96px',
      cell: ({ account_id: id }) => (
        <PauseSwitch subject={{ kind: 'account', id }} isPaused={paused.includes(id)} size="small" />
      ),
    },
  ];
}
