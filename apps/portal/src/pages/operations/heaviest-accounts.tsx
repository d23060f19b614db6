import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import { type Column, DataTable } from '../../components/data-table';
import { SelectField } from '../../components/field';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { formatBytes } from '../../language/formats';
import { ChartFigure } from '../overview/chart-figure';
import type { Series } from '../overview/columns';
import { accountColumns, type ChartActions, type DayRange } from './day-columns';
import { formatCount, formatSeconds } from './format';
import styles from './operations.module.css';
import { type HeavyAccount, type Measure, useHeavyAccounts } from './use-last-day';

const measures: Readonly<Record<Measure, readonly [name: string, format: (value: number) => string]>> = {
  events: ['Events accepted', formatCount],
  bytes: ['Bytes of events', formatBytes],
  transform_ms: ['Time of transformations', (ms) => formatSeconds(ms / 1_000)],
};

const columns: readonly Column<HeavyAccount>[] = [
  {
    id: 'account',
    header: 'Account',
    cell: ({ account_id: id }) => <Link href={`/accounts/${id}`}>{id}</Link>,
  },
  { id: 'events', header: 'Events', width: '104px', cell: ({ events }) => formatCount(events) },
  { id: 'bytes', header: 'Bytes', width: '104px', cell: ({ bytes }) => formatBytes(bytes) },
  {
    id: 'transform',
    header: 'Transformations',
    width: '136px',
    from: 'medium',
    cell: ({ transform_ms: ms }) => formatSeconds(ms / 1_000),
  },
];

export interface HeaviestAccountsProps {
  readonly range: DayRange;
  readonly chart: ChartActions;
}

/** The accounts that use most, of what is chosen. */
export function HeaviestAccounts({ range, chart }: HeaviestAccountsProps) {
  const [by, setBy] = useState<Measure>('events');
  const { data, error, refetch, isPlaceholderData } = useHeavyAccounts(by);
  const accounts = isPlaceholderData ? undefined : data?.data;
  const [title, format] = measures[by];
  const drawn = useMemo(() => accounts && accountColumns(accounts, by, range), [accounts, by, range]);
  const hrefOf = (_since: number, _until: number, series?: Series) =>
    series?.leads?.['account'] && `/accounts/${series.leads['account']}`;
  return (
    <Section
      title="Accounts with the most use"
      actions={
        <SelectField label="By" value={by} onChange={({ target }) => setBy(target.value as Measure)}>
          {Object.entries(measures).map(([measure, [name]]) => (
            <option key={measure} value={measure}>
              {name}
            </option>
          ))}
        </SelectField>
      }
    >
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      <ChartFigure
        title={`${title}, by account`}
        columns={drawn}
        kind="bars"
        format={format}
        hrefOf={hrefOf}
        {...chart}
      />
      {accounts?.length === 0 ? (
        <p className={styles['note']}>No account has used any in the last 24 hours.</p>
      ) : (
        <DataTable
          label="Accounts with the most use"
          columns={columns}
          rows={accounts}
          rowId={({ account_id: id }) => id}
        />
      )}
    </Section>
  );
}
