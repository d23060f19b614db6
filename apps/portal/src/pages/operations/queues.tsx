import { Badge } from '../../components/badge';
import { type Column, DataTable } from '../../components/data-table';
import { Section } from '../../components/section';
import { formatCount, formatSeconds } from './format';
import type { Operations } from './operations';
import styles from './operations.module.css';
import { PausedBy, PauseSwitch } from './pausing';

type Queue = Operations['queues'][number];

const columns: readonly Column<Queue>[] = [
  {
    id: 'name',
    header: 'Queue',
    cell: ({ name, paused }) => (
      <>
        {name} {paused && <Badge tone="warning">paused</Badge>}
      </>
    ),
  },
  { id: 'shard', header: 'Shard', width: '72px', cell: ({ shard }) => shard, from: 'medium' },
  { id: 'waiting', header: 'Waiting', width: '96px', cell: ({ waiting }) => formatCount(waiting) },
  {
    id: 'active',
    header: 'Active',
    width: '96px',
    cell: ({ active }) => formatCount(active),
    from: 'medium',
  },
  {
    id: 'delayed',
    header: 'Delayed',
    width: '96px',
    cell: ({ delayed }) => formatCount(delayed),
    from: 'medium',
  },
  { id: 'failed', header: 'Failed', width: '96px', cell: ({ failed }) => formatCount(failed), from: 'wide' },
  {
    id: 'oldest',
    header: 'Oldest',
    width: '88px',
    cell: ({ oldest_waiting_seconds: seconds }) => formatSeconds(seconds),
  },
];

const PAUSABLE = ['deliveries', 'events'] as const;

export interface QueuesProps {
  readonly queues: readonly Queue[];
}

export function Queues({ queues }: QueuesProps) {
  return (
    <Section
      title="Queues"
      actions={PAUSABLE.map((name) => (
        <PauseSwitch
          key={name}
          subject={{ kind: 'queue', id: name }}
          label={name}
          isPaused={queues.some((queue) => queue.name === name && queue.paused)}
        />
      ))}
    >
      {pausesOf(queues).map(({ name, pause }) => (
        <p key={name} className={styles['note']}>
          {name}: <PausedBy pause={pause} />
        </p>
      ))}
      <DataTable
        label="Queues"
        columns={columns}
        rows={queues}
        rowId={({ name, shard }) => `${name} ${shard}`}
      />
    </Section>
  );
}

/** Each paused queue once, of whichever shard. */
function pausesOf(queues: readonly Queue[]): readonly Queue[] {
  return PAUSABLE.flatMap((name) => queues.find((queue) => queue.name === name && queue.paused) ?? []);
}
