import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useMemo, useState } from 'react';
import { useSearchParams } from 'wouter';
import { type ListedEvent, useEvents } from '../../api/event-queries';
import type { Column } from '../../components/data-table';
import { Empty } from '../../components/empty';
import { PagedTable } from '../../components/paged-table';
import { ShortId } from '../../components/short-id';
import { Time } from '../../components/time';
import { useCan } from '../../session/session-context';
import { Countdown, useReadWhenDue } from './countdown';
import { ScheduleActions, ScheduleDialog, type ScheduleWish } from './schedule-actions';

/** As it stands in the address. */
export const SCHEDULED = 'scheduled';

const columns: readonly Column<ListedEvent>[] = [
  { id: 'type', header: t`Type`, cell: ({ type }) => type },
  { id: 'id', header: t`Event`, width: '11rem', from: 'wide', cell: ({ id }) => <ShortId id={id} /> },
  {
    id: 'due',
    header: t`Due`,
    width: 'clamp(152px, 16vw, 176px)',
    cell: ({ deliver_at: at }) => at && <Time at={at} form="short" />,
    second: ({ deliver_at: at }) => at && <Countdown until={at} hasIn />,
  },
  {
    id: 'countdown',
    header: t({ message: 'In', context: 'time that is left' }),
    width: '104px',
    from: 'medium',
    cell: ({ deliver_at: at }) => at && <Countdown until={at} />,
  },
];

const actions = (onAsk: (wish: ScheduleWish) => void): Column<ListedEvent> => ({
  id: 'actions',
  header: t({ message: 'Change', context: 'what can be done with an event' }),
  width: '10rem',
  from: 'medium',
  cell: ({ id, type, deliver_at: at }) =>
    at && <ScheduleActions id={id} type={type} at={at} size="small" onAsk={onAsk} />,
});

/** The scheduled events, the next one first. */
export function ScheduledEvents() {
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
        label={t`Scheduled events`}
        columns={shown}
        pages={pages}
        rowId={({ id }) => id}
        hrefOf={({ id }) => `/events/${id}`}
        empty={
          <Empty title={t`Nothing is scheduled`}>
            <p>
              <Trans>An event that is published with “deliver_at” waits here until that time.</Trans>
            </p>
          </Empty>
        }
      />
      {wish && <ScheduleDialog wish={wish} onClose={() => setWish(undefined)} />}
    </>
  );
}
