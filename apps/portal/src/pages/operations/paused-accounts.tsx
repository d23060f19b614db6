import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Link } from 'wouter';
import { type Column, DataTable } from '../../components/data-table';
import { Section } from '../../components/section';
import { Time } from '../../components/time';
import { actorText } from '../audit-log/audit-texts';
import type { Operations } from './operations';
import styles from './operations.module.css';
import { PauseSwitch } from './pausing';

type PausedAccount = Operations['paused_accounts'][number];

const columns: readonly Column<PausedAccount>[] = [
  {
    id: 'account',
    header: t`Account`,
    cell: ({ account_id: id }) => <Link href={`/accounts/${id}`}>{id}</Link>,
  },
  { id: 'reason', header: t`Reason`, cell: ({ pause: { reason } }) => reason ?? '–' },
  {
    id: 'by',
    header: t({ message: 'By', context: 'person' }),
    cell: ({ pause: { by } }) => actorText(by),
    from: 'wide',
  },
  {
    id: 'since',
    header: t`Since`,
    width: '168px',
    cell: ({ pause: { paused_at: at } }) => <Time at={at} form="short" />,
    from: 'medium',
  },
  {
    id: 'resume',
    header: t`Actions`,
    width: '120px',
    cell: ({ account_id: id }) => <PauseSwitch subject={{ kind: 'account', id }} isPaused size="small" />,
  },
];

export interface PausedAccountsProps {
  readonly accounts: readonly PausedAccount[];
}

/** The accounts that get no deliveries because an operator wants it so. */
export function PausedAccounts({ accounts }: PausedAccountsProps) {
  if (accounts.length === 0) return null;
  return (
    <Section title={t`Paused accounts`}>
      <p className={styles['note']}>
        <Trans>
          An operator has paused these accounts: their deliveries wait until somebody resumes them.
        </Trans>
      </p>
      <DataTable
        label={t`Paused accounts`}
        columns={columns}
        rows={accounts}
        rowId={({ account_id: id }) => id}
      />
    </Section>
  );
}
