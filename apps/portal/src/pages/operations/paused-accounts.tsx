import { Link } from 'wouter';
import { type Column, DataTable } from '../../components/data-table';
import { Section } from '../../components/section';
import { Time } from '../../components/time';
import { actorText } from '../audit-log/audit-texts';
import type { Operations } from './operations';
import { PauseSwitch } from './pausing';

type PausedAccount = Operations['paused_accounts'][number];

const columns: readonly Column<PausedAccount>[] = [
  {
    id: 'account',
    header: 'Account',
    cell: ({ account_id: id }) => <Link href={`/accounts/${id}`}>{id}</Link>,
  },
  { id: 'reason', header: 'Reason', cell: ({ pause: { reason } }) => reason ?? '–' },
  { id: 'by', header: 'By', cell: ({ pause: { by } }) => actorText(by), from: 'wide' },
  {
    id: 'since',
    header: 'Since',
    width: '168px',
    cell: ({ pause: { paused_at: at } }) => <Time at={at} form="short" />,
    from: 'medium',
  },
  {
    id: 'resume',
    header: 'Actions',
    width: '96px',
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
    <Section title="Paused accounts">
      <DataTable
        label="Paused accounts"
        columns={columns}
        rows={accounts}
        rowId={({ account_id: id }) => id}
      />
    </Section>
  );
}
