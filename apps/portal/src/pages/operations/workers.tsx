import { t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
import { type Column, DataTable } from '../../components/data-table';
import { Empty } from '../../components/empty';
import { Section } from '../../components/section';
import { Time } from '../../components/time';
import { formatCount, formatNumber } from '../../language/formats';
import type { Operations } from './operations';
import styles from './operations.module.css';

type Worker = Operations['workers'][number];

const columns: readonly Column<Worker>[] = [
  { id: 'id', header: t`Worker`, width: '96px', cell: ({ id }) => <code>{id}</code> },
  { id: 'host', header: t`Host and process`, cell: ({ host, pid }) => `${host}, ${pid}`, from: 'medium' },
  { id: 'version', header: t`Version`, width: '176px', cell: ({ version }) => version, from: 'wide' },
  {
    id: 'started',
    header: t`Started`,
    width: '168px',
    cell: ({ started_at: at }) => <Time at={at} form="ago" />,
    from: 'wide',
  },
  { id: 'quick', header: t`Quick attempts`, width: '112px', cell: ({ slots }) => used(slots.quick) },
  {
    id: 'slow',
    header: t`Slow attempts`,
    width: '112px',
    cell: ({ slots }) => used(slots.slow),
    from: 'medium',
  },
  {
    id: 'rate',
    header: t`Per second`,
    width: '96px',
    cell: (worker) => formatNumber(worker.attempts_per_second),
  },
];

export interface WorkersProps {
  readonly workers: readonly Worker[];
}

/** Those that live, and how much of what each can do at once it does. */
export function Workers({ workers }: WorkersProps) {
  return (
    <Section title={t`Workers`}>
      {workers.length === 0 ? (
        <Empty title={t`No worker is running`}>
          <p>
            <Trans>Nothing is delivered until you start one.</Trans>
          </p>
        </Empty>
      ) : (
        <>
          <p className={styles['note']}>
            <Plural value={workers.length} one="# worker runs." other="# workers run." />{' '}
            <Trans>
              The table shows how many attempts each one makes now, of those that it may make at once. An
              attempt is slow after 250 ms.
            </Trans>
          </p>
          <DataTable label={t`Workers`} columns={columns} rows={workers} rowId={({ id }) => id} />
        </>
      )}
    </Section>
  );
}

function used({ in_use: inUse, allowed }: Worker['slots']['quick']): string {
  const [now, most] = [formatCount(inUse), formatCount(allowed)];
  return t`${now} of ${most}`;
}
