import { type Column, DataTable } from '../../components/data-table';
import { Empty } from '../../components/empty';
import { Section } from '../../components/section';
import { Time } from '../../components/time';
import { formatCount } from './format';
import type { Operations } from './operations';

type Worker = Operations['workers'][number];

const columns: readonly Column<Worker>[] = [
  { id: 'id', header: 'Worker', width: '96px', cell: ({ id }) => <code>{id}</code> },
  { id: 'host', header: 'Host and process', cell: ({ host, pid }) => `${host}, ${pid}`, from: 'medium' },
  { id: 'version', header: 'Version', width: '176px', cell: ({ version }) => version, from: 'wide' },
  {
    id: 'started',
    header: 'Started',
    width: '168px',
    cell: ({ started_at: at }) => <Time at={at} form="ago" />,
    from: 'wide',
  },
  { id: 'quick', header: 'Attempts', width: '112px', cell: ({ slots }) => used(slots.quick) },
  { id: 'slow', header: 'Slow ones', width: '112px', cell: ({ slots }) => used(slots.slow), from: 'medium' },
  {
    id: 'rate',
    header: 'Per second',
    width: '96px',
    cell: (worker) => formatCount(worker.attempts_per_second),
  },
];

export interface WorkersProps {
  readonly workers: readonly Worker[];
}

/** Those that live, and how much of what each can do at once it does. */
export function Workers({ workers }: WorkersProps) {
  return (
    <Section title="Workers">
      {workers.length === 0 ? (
        <Empty title="No worker is running">
          <p>Nothing is delivered until you start one.</p>
        </Empty>
      ) : (
        <DataTable label="Workers" columns={columns} rows={workers} rowId={({ id }) => id} />
      )}
    </Section>
  );
}

function used({ in_use: inUse, allowed }: Worker['slots']['quick']): string {
  return `${formatCount(inUse)} of ${formatCount(allowed)}`;
}
