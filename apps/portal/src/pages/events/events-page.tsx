import { useState } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { type ListedEvent, useEvents } from '../../api/event-queries';
import { useEventTypes } from '../../api/event-type-queries';
import { Badge } from '../../components/badge';
import { Button } from '../../components/button';
import { DataSearch } from '../../components/data-search';
import type { Column } from '../../components/data-table';
import { Empty } from '../../components/empty';
import { SelectField, TextField } from '../../components/field';
import { PagedTable } from '../../components/paged-table';
import { faultOfSearch } from '../../components/searched-data';
import { Time } from '../../components/time';
import { useCan } from '../../session/session-context';
import { PageHeader } from '../page-header';
import { fromLocalInput, toLocalInput } from '../replay/range';
import styles from './events-page.module.css';
import { PublishDialog } from './publishing';
import { SCHEDULED, ScheduledEvents } from './scheduled-events';

const columns: readonly Column<ListedEvent>[] = [
  { id: 'type', header: 'Type', cell: ({ id, type }) => <Link href={`/events/${id}`}>{type}</Link> },
  { id: 'id', header: 'Event', from: 'medium', cell: ({ id }) => <code>{id}</code> },
  {
    id: 'state',
    header: '',
    width: '8rem',
    from: 'wide',
    cell: ({ payload_erased_at: erasedAt, status }) => (
      <>
        {erasedAt && <Badge tone="neutral">Erased</Badge>}
        {status === 'cancelled' && <Badge tone="neutral">Cancelled</Badge>}
      </>
    ),
  },
  {
    id: 'time',
    header: 'Published',
    width: '11rem',
    cell: ({ created_at: at }) => <Time at={at} form="short" />,
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
      <PageHeader title="Events">
        {mayPublish && (
          <Button kind="primary" onClick={() => setPublishing(true)}>
            Publish an event
          </Button>
        )}
      </PageHeader>
      {isPublishing && <PublishDialog onClose={() => setPublishing(false)} />}
      <Filters isScheduled={isScheduled} />
      {isScheduled ? <ScheduledEvents /> : <PublishedEvents />}
    </>
  );
}

function PublishedEvents() {
  const [, go] = useLocation();
  const [search] = useSearchParams();
  const [type, since, until] = ['type', 'since', 'until'].map((name) => search.get(name) ?? '');
  const data = search.get('data') ?? '';
  const pages = useEvents({
    ...(type && { type }),
    ...(data && faultOfSearch(data) === undefined && { data }),
    ...(since && { since }),
    ...(until && { until }),
  });
  return (
    <PagedTable
      label="Events"
      columns={columns}
      pages={pages}
      rowId={({ id }) => id}
      onOpen={({ id }) => go(`/events/${id}`)}
      empty={
        <Empty title="No such events">
          <p>No event matches these filters, or it is no longer kept.</p>
          {data !== '' && (
            <p>A value must be equal as a whole, letter by letter. Erased events are not found.</p>
          )}
        </Empty>
      }
    />
  );
}

/** @param isScheduled those are found by their time alone */
function Filters({ isScheduled }: { readonly isScheduled: boolean }) {
  const [search, setSearch] = useSearchParams();
  const { data: types = [] } = useEventTypes();
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
  const timeOf = (name: string) => {
    const at = search.get(name);
    return at === null || Number.isNaN(Date.parse(at)) ? '' : toLocalInput(new Date(at));
  };
  return (
    <>
      {!isScheduled && <DataSearch value={search.get('data') ?? ''} onSearch={(text) => set('data', text)} />}
      <div className={styles['filters']}>
        <SelectField
          label="Which"
          value={isScheduled ? SCHEDULED : ''}
          onChange={({ target }) => setSearch(target.value === SCHEDULED ? { status: SCHEDULED } : {})}
        >
          <option value="">published</option>
          <option value={SCHEDULED}>scheduled, not sent yet</option>
        </SelectField>
        {!isScheduled && (
          <SelectField
            label="Type"
            value={search.get('type') ?? ''}
            onChange={(event) => set('type', event.target.value)}
          >
            <option value="">all types</option>
            {types.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </SelectField>
        )}
        <TextField
          label={isScheduled ? 'Due from' : 'From'}
          type="datetime-local"
          value={timeOf('since')}
          onChange={(event) => set('since', fromLocalInput(event.target.value))}
        />
        <TextField
          label={isScheduled ? 'Due until' : 'Until'}
          type="datetime-local"
          value={timeOf('until')}
          onChange={(event) => set('until', fromLocalInput(event.target.value))}
        />
      </div>
    </>
  );
}
