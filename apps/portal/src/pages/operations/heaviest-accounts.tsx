import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import { type Column, DataTable } from '../../components/data-table';
import { SelectField } from '../../components/field';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { formatBytes, formatCount, formatMs } from '../../language/formats';
import { ChartFigure } from '../overview/chart-figure';
import { accountColumns, type DayRange } from './day-columns';
import styles from './operations.module.css';
import { type HeavyAccount, type Measure, useHeavyAccounts } from './use-last-day';

const measures: Readonly<
  Record<Measure, readonly [name: string, format: (value: number) => string, byAccount: string]>
> = {
  events: [t`Events accepted`, formatCount, t`Events accepted, by account`],
  bytes: [t`Bytes of events`, formatBytes, t`Bytes of events, by account`],
  transform_ms: [t`Time of transformations`, (ms) => formatMs(ms), t`Time of transformations, by account`],
};

const columns: readonly Column<HeavyAccount>[] = [
  {
    id: 'account',
    header: t`Account`,
    cell: ({ account_id: id }) => <Link href={`/accounts/${id}`}>{id}</Link>,
  },
  { id: 'events', header: t`Events`, width: '104px', cell: ({ events }) => formatCount(events) },
  { id: 'bytes', header: t`Bytes`, width: '104px', cell: ({ bytes }) => formatBytes(bytes) },
  {
    id: 'transform',
    header: t`Transformations`,
    width: '136px',
    from: 'medium',
    cell: ({ transform_ms: ms }) => formatMs(ms),
  },
];

export interface HeaviestAccountsProps {
  readonly range: DayRange;
  readonly onRange: (since: number, until: number) => void;
}

/** The accounts that use most, of what is chosen. */
export function HeaviestAccounts({ range, onRange }: HeaviestAccountsProps) {
  const [by, setBy] = useState<Measure>('events');
  const { data, error, refetch, isPlaceholderData } = useHeavyAccounts(by);
  const accounts = isPlaceholderData ? undefined : data?.data;
  const [, format, byAccount] = measures[by];
  const drawn = useMemo(() => accounts && accountColumns(accounts, by, range), [accounts, by, range]);
  return (
    <Section
      title={t`Accounts with the most use`}
      actions={
        <SelectField
          label={t({ message: 'By', context: 'measure' })}
          value={by}
          onChange={({ target }) => setBy(target.value as Measure)}
        >
          {Object.entries(measures).map(([measure, [name]]) => (
            <option key={measure} value={measure}>
              {name}
            </option>
          ))}
        </SelectField>
      }
    >
      <p className={styles['note']}>
        <Trans>The accounts that used most in the last 24 hours, hour by hour.</Trans>
      </p>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      <ChartFigure title={byAccount} columns={drawn} kind="bars" format={format} onRange={onRange} />
      {accounts?.length === 0 ? (
        <p className={styles['note']}>
          <Trans>No account has used any in the last 24 hours.</Trans>
        </p>
      ) : (
        <DataTable
          label={t`Accounts with the most use`}
          columns={columns}
          rows={accounts}
          rowId={({ account_id: id }) => id}
        />
      )}
    </Section>
  );
}
