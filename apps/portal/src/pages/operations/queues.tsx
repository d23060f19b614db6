import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Badge } from '../../components/badge';
import { type Column, DataTable } from '../../components/data-table';
import { Section } from '../../components/section';
import { formatCount, formatMs } from '../../language/formats';
import type { Operations } from './operations';
import styles from './operations.module.css';
import { PausedBy, PauseSwitch } from './pausing';

type Queue = Operations['queues'][number];

const columns: readonly Column<Queue>[] = [
  {
    id: 'name',
    header: t`Queue`,
    cell: ({ name, paused }) => (
      <>
        {name}{' '}
        {paused && (
          <Badge tone="warning">
            <Trans context="queue">paused</Trans>
          </Badge>
        )}
      </>
    ),
  },
  { id: 'shard', header: t`Shard`, width: '72px', cell: ({ shard }) => shard, from: 'medium' },
  { id: 'waiting', header: t`Waiting`, width: '96px', cell: ({ waiting }) => formatCount(waiting) },
  {
    id: 'active',
    header: t`Active`,
    width: '96px',
    cell: ({ active }) => formatCount(active),
    from: 'medium',
  },
  {
    id: 'delayed',
    header: t`Delayed`,
    width: '96px',
    cell: ({ delayed }) => formatCount(delayed),
    from: 'medium',
  },
  {
    id: 'failed',
    header: t({ message: 'Failed', context: 'jobs' }),
    width: '120px',
    cell: ({ failed }) => formatCount(failed),
    from: 'wide',
  },
  {
    id: 'oldest',
    header: t`Oldest`,
    width: '88px',
    cell: ({ oldest_waiting_seconds: seconds }) => formatMs(1_000 * seconds),
  },
];

const PAUSABLE = ['deliveries', 'events'] as const;

/** The place of the table in the page. */
export const QUEUES = 'queues';

export interface QueuesProps {
  readonly queues: readonly Queue[];
}

export function Queues({ queues }: QueuesProps) {
  return (
    <Section
      title={t`Queues`}
      id={QUEUES}
      actions={PAUSABLE.map((name) => (
        <PauseSwitch
          key={name}
          subject={{ kind: 'queue', id: name }}
          label={name}
          isPaused={queues.some((queue) => queue.name === name && queue.paused)}
        />
      ))}
    >
      <p className={styles['note']}>{jobsText(queues)}</p>
      {pausesOf(queues).map(({ name, pause }) => (
        <p key={name} className={styles['note']}>
          {name}: <PausedBy pause={pause} />
        </p>
      ))}
      <DataTable
        label={t`Queues`}
        columns={columns}
        rows={queues}
        rowId={({ name, shard }) => `${name} ${shard}`}
      />
    </Section>
  );
}

function jobsText(queues: readonly Queue[]): string {
  const sumOf = (state: 'waiting' | 'active' | 'delayed') =>
    queues.reduce((sum, queue) => sum + queue[state], 0);
  const [waiting, active, delayed] = [sumOf('waiting'), sumOf('active'), sumOf('delayed')];
  return t`${plural(waiting, { one: '# job waits for a worker', other: '# jobs wait for a worker' })}, ${plural(active, { one: '# is active', other: '# are active' })}, and ${plural(delayed, { one: '# is delayed', other: '# are delayed' })}. Delayed jobs wait for their time, as retries and held deliveries do.`;
}

/** Each paused queue once, of whichever shard. */
function pausesOf(queues: readonly Queue[]): readonly Queue[] {
  return PAUSABLE.flatMap((name) => queues.find((queue) => queue.name === name && queue.paused) ?? []);
}
