import { useMemo, useState } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { type ListedEvent, useEvents } from '../../api/event-queries';
import { type Column, timeWidth } from '../../components/data-table';
import { Empty } from '../../components/empty';
import { PagedTable } from '../../components/paged-table';
import { Time } from '../../components/time';
import { useCan } from '../../session/session-context';
import { Countdown, useReadWhenDue } from './countdown';
import { ScheduleActions, ScheduleDialog, type ScheduleWish } from './schedule-actions';

/** As it stands in the address. */
export const SCHEDULED = 'scheduled';

const columns: readonly Column<ListedEvent>[] = [
  { id: 'type', header: 'Type', cell: ({ id, type }) => <Link href={`/events/${id}`}>{type}</Link> },
  { id: 'id', header: 'Event', from: 'wide', cell: ({ id }) => <code>{id}</code> },
  {
    id: 'due',
    header: 'Due',
    width: timeWidth('11rem'),
    cell: ({ deliver_at: at }) => at && <Time at={at} form="short" />,
  },
  {
    id: 'countdown',
    header: 'In',
    width: '6rem',
    cell: ({ deliver_at: at }) => at && <Countdown until={at} />,
  },
];

const actions = (onAsk: (wish: ScheduleWish) => void): Column<ListedEvent> => ({
  id: 'actions',
  header: '',
  width: '10rem',
  from: 'medium',
  cell: ({ id, type, deliver_at: at }) =>
    at && <ScheduleActions id={id} type={type} at={at} size="small" onAsk={onAsk} />,
});

/** The scheduled events, the next one first. */
export function ScheduledEvents() {
  const [, go] = useLocation();
  const [search] = useSearchParams();
  const mayChange = useCan('schedule');
  const [wish, setWish] = useState<ScheduleWish>();
  const shown = useMemo(() => (mayChange ? [...columns, actions(setWish)] : columns), [mayChange]);
  const [since, until] = ['since', 'until'].map((name) => search.get(name) ?? '');
  const pages = useEvents({ status: SCHEDULED, ...(since && { since }), ...(until && { until }) });
  useReadWhenDue(pages.rows?.[0]?.deliver_at, pages.refetch);
  return (
    <>
      <PagedTable
        label="Scheduled events"
        columns={shown}
        pages={pages}
        rowId={({ id }) => id}
        onOpen={({ id }) => go(`/events/${id}`)}
        empty={
          <Empty title="Nothing is scheduled">
            <p>An event that is published with “deliver_at” waits here until that time.</p>
          </Empty>
        }
      />
      {wish && <ScheduleDialog wish={wish} onClose={() => setWish(undefined)} />}
    </>
  );
}
