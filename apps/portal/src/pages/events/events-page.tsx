import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useEffect, useEffectEvent, useState } from 'react';
import { useSearchParams } from 'wouter';
import { type ListedEvent, useEvents } from '../../api/event-queries';
import type { Pages } from '../../api/use-pages';
import { Button } from '../../components/button';
import { DataSearch } from '../../components/data-search';
import { AGO_WIDTH, type Column } from '../../components/data-table';
import { Empty } from '../../components/empty';
import { SelectField, TextField } from '../../components/field';
import { Filters } from '../../components/filters';
import { PagedTable } from '../../components/paged-table';
import { faultOfSearch } from '../../components/searched-data';
import { ShortId, shortId } from '../../components/short-id';
import { Time } from '../../components/time';
import { useLiveMessages } from '../../live/live-context';
import { useCan } from '../../session/session-context';
import { useOfferedTypes } from '../event-types/offered-types';
import { PageHeader } from '../page-header';
import { fromLocalInput, toLocalInput } from '../replay/range';
import { DeliveriesOf, otherCounts } from './deliveries-of';
import styles from './events-page.module.css';
import { PublishDialog } from './publishing';
import { SCHEDULED, ScheduledEvents } from './scheduled-events';

const columns: readonly Column<ListedEvent>[] = [
  {
    id: 'type',
    header: t`Type`,
    isName: true,
    cell: ({ type }) => type,
    second: ({ id }) => <code>{shortId(id)}</code>,
  },
  {
    id: 'deliveries',
    header: t`Deliveries`,
    width: '40%',
    cell: (event) => <DeliveriesOf event={event} />,
    second: otherCounts,
  },
  { id: 'id', header: t`Event`, width: '200px', from: 'medium', cell: ({ id }) => <ShortId id={id} /> },
  {
    id: 'time',
    header: t`Published`,
    width: AGO_WIDTH,
    cell: ({ created_at: at }) => <Time at={at} form="ago" />,
  },
];

/** The published events. The filters are in the address, so that a view can be kept and shown to others. */
export function EventsPage() {
  const [search] = useSearchParams();
  const isScheduled = search.get('status') === SCHEDULED;
  const mayPublish = useCan('publish');
  const [isPublishing, setPublishing] = useState(false);
  return (
    <>
      <PageHeader title={t`Events`}>
        {mayPublish && (
          <Button kind="primary" onClick={() => setPublishing(true)}>
            <Trans>Publish an event</Trans>
          </Button>
        )}
      </PageHeader>
      {isPublishing && <PublishDialog onClose={() => setPublishing(false)} />}
      <EventFilters isScheduled={isScheduled} />
      {isScheduled ? <ScheduledEvents /> : <PublishedEvents />}
    </>
  );
}

function PublishedEvents() {
  const [search] = useSearchParams();
  const [type, since, until] = ['type', 'since', 'until'].map((name) => search.get(name) ?? '');
  const data = search.get('data') ?? '';
  const pages = useEvents({
    ...(type && { type }),
    ...(data && faultOfSearch(data) === undefined && { data }),
    ...(since && { since }),
    ...(until && { until }),
  });
  useReadChanged(pages);
  return (
    <PagedTable
      label={t`Events`}
      columns={columns}
      pages={pages}
      rowId={({ id }) => id}
      hrefOf={({ id }) => `/events/${id}`}
      empty={
        <Empty title={t`No such events`}>
          <p>
            <Trans>No event matches these filters, or it is no longer kept.</Trans>
          </p>
          {data !== '' && (
            <p>
              <Trans>A value must be equal as a whole, letter by letter. Erased events are not found.</Trans>
            </p>
          )}
        </Empty>
      }
    />
  );
}

// Further down, each look would read too much.
const MOST_READ_AGAIN = 100;
const READ_AGAIN_AFTER_MS = 2_000;

/** Reads the list again, a moment later, when deliveries of events in it have changed: their counts are no longer true. */
function useReadChanged({ rows = [], refetch }: Pages<ListedEvent>): void {
  const [isStale, setIsStale] = useState(false);
  useLiveMessages((message) => {
    if (message.kind !== 'delivery' || rows.length > MOST_READ_AGAIN) return;
    if (rows.some(({ id }) => id === message.delivery.event_id)) setIsStale(true);
  });
  const readAgain = useEffectEvent(() => {
    setIsStale(false);
    refetch();
  });
  useEffect(() => {
    if (!isStale) return undefined;
    const timer = setTimeout(() => readAgain(), READ_AGAIN_AFTER_MS);
    return () => clearTimeout(timer);
  }, [isStale]);
}

/** @param isScheduled those are found by their time alone */
function EventFilters({ isScheduled }: { readonly isScheduled: boolean }) {
  const [search, setSearch] = useSearchParams();
  // What the address asks for can be chosen too.
  const asked = search.get('type') ?? '';
  const { data: types = [] } = useOfferedTypes(asked === '' ? [] : [asked]);
  const set = (name: string, value: string | undefined) =>
    setSearch(
      (former) => {
        const next = new URLSearchParams(former);
        if (value) next.set(name, value);
        else next.delete(name);
        return next;
      },
      { replace: true },
    );
  const count = ['type', 'since', 'until', 'status'].filter((name) => search.get(name)).length;
  const timeOf = (name: string) => {
    const at = search.get(name);
    return at === null || Number.isNaN(Date.parse(at)) ? '' : toLocalInput(new Date(at));
  };
  return (
    <>
      {!isScheduled && <DataSearch value={search.get('data') ?? ''} onSearch={(text) => set('data', text)} />}
      <Filters count={count}>
        <div className={styles['filters']}>
          <SelectField
            label={t`Show`}
            value={isScheduled ? SCHEDULED : ''}
            onChange={({ target }) => setSearch(target.value === SCHEDULED ? { status: SCHEDULED } : {})}
          >
            <option value="">
              <Trans>published events</Trans>
            </option>
            <option value={SCHEDULED}>
              <Trans>scheduled events</Trans>
            </option>
          </SelectField>
          {!isScheduled && (
            <SelectField label={t`Type`} value={asked} onChange={(event) => set('type', event.target.value)}>
              <option value="">
                <Trans>all types</Trans>
              </option>
              {types.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </SelectField>
          )}
          <TextField
            label={isScheduled ? t`Due from` : t({ message: 'From', context: 'time' })}
            type="datetime-local"
            value={timeOf('since')}
            onChange={(event) => set('since', fromLocalInput(event.target.value))}
          />
          <TextField
            label={isScheduled ? t`Due until` : t({ message: 'Until', context: 'time' })}
            type="datetime-local"
            value={timeOf('until')}
            onChange={(event) => set('until', fromLocalInput(event.target.value))}
          />
        </div>
      </Filters>
    </>
  );
}
