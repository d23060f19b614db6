import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useMemo } from 'react';
import { Link, useLocation } from 'wouter';
import type { DeliveryMetrics, MetricsPoint } from '../../api/metrics-queries';
import { type Column, DataTable } from '../../components/data-table';
import { Section } from '../../components/section';
import { formatCount, formatMs } from '../../language/formats';
import { FAILED } from '../deliveries/filters-in-url';
import { formatRate } from '../webhooks/health-figures';
import styles from './overview.module.css';
import { attemptsHref } from './period';

/** Rows of a list that has no end of its own. */
export const MOST_LISTED = 8;

export interface AttemptsTableProps {
  readonly title: string;
  /** Counted by what the rows are. */
  readonly metrics: DeliveryMetrics | undefined;
  readonly by: 'webhook' | 'type';
  /** What those have most of that are listed. */
  readonly order: 'attempts' | 'failed';
  /** Of webhooks, by their ids. */
  readonly names: ReadonlyMap<string, string>;
}

/** The webhooks or the types with most attempts, or most failed ones. Each figure leads to as many attempts. */
export function AttemptsTable({ title, metrics, by, order, names }: AttemptsTableProps) {
  const [, navigate] = useLocation();
  const rows = metrics?.data
    .filter((point) => point[order] > 0)
    .toSorted((a, b) => b[order] - a[order])
    .slice(0, MOST_LISTED);
  const columns = useMemo(() => columnsOf(metrics, by, order, names), [metrics, by, order, names]);
  const open = (row: MetricsPoint) =>
    navigate(countedHref(metrics, { [by]: idOf(row, by), ...(order === 'failed' && { attempt: FAILED }) }));
  return (
    <Section title={title}>
      {rows?.length === 0 ? (
        <p className={styles['note']}>
          {order === 'failed' ? <Trans>No attempt has failed.</Trans> : <Trans>Nothing was sent.</Trans>}
        </p>
      ) : (
        <DataTable label={title} columns={columns} rows={rows} rowId={(row) => idOf(row, by)} onOpen={open} />
      )}
    </Section>
  );
}

function idOf({ group }: MetricsPoint, by: AttemptsTableProps['by']): string {
  return (by === 'webhook' ? group.webhook_id : group.event_type) ?? '';
}

/** The address of the attempts that were counted. */
export function countedHref(
  metrics: DeliveryMetrics | undefined,
  filters: Readonly<Record<string, string>>,
): string {
  const [since, until] = [metrics?.since, metrics?.until].map((time) => Date.parse(time ?? ''));
  return since && until ? attemptsHref(since, until, filters) : '/deliveries';
}

function columnsOf(
  metrics: DeliveryMetrics | undefined,
  by: AttemptsTableProps['by'],
  order: AttemptsTableProps['order'],
  names: ReadonlyMap<string, string>,
): readonly Column<MetricsPoint>[] {
  const failed: Column<MetricsPoint> = {
    id: 'failed',
    header: t({ message: 'Failed', context: 'attempts' }),
    width: '120px',
    cell: (row) =>
      row.failed === 0 ? (
        formatCount(0)
      ) : (
        <Link href={countedHref(metrics, { [by]: idOf(row, by), attempt: FAILED })}>
          {formatCount(row.failed)}
        </Link>
      ),
  };
  const attempts: Column<MetricsPoint> = {
    id: 'attempts',
    header: t`Attempts`,
    width: '96px',
    cell: (row) => (
      <Link href={countedHref(metrics, { [by]: idOf(row, by) })}>{formatCount(row.attempts)}</Link>
    ),
  };
  return [
    {
      id: by,
      header: by === 'webhook' ? t`Webhook` : t`Type`,
      cell: (row) => {
        const id = idOf(row, by);
        return (
          <Link className={styles['name'] ?? ''} href={`/overview?${new URLSearchParams({ [by]: id })}`}>
            {names.get(id) ?? id}
          </Link>
        );
      },
    },
    ...(order === 'failed'
      ? [failed, { ...attempts, from: 'medium' as const }]
      : [attempts, { ...failed, from: 'medium' as const }]),
    {
      id: 'rate',
      header: t`Success`,
      width: '88px',
      cell: ({ delivered, attempts: all }) => formatRate(delivered / all),
    },
    { id: 'p95', header: 'p95', width: '104px', from: 'wide', cell: ({ p95_ms: ms }) => formatMs(ms) },
  ];
}
