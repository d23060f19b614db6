import type { components } from '@hookferry/client';
import { Link } from 'wouter';
import { useEventText } from '../../api/delivery-queries';
import { CopyButton } from '../../components/copy-button';
import { Empty } from '../../components/empty';
import { Facts } from '../../components/facts';
import { PageHeader } from '../../components/page-header';
import { Problem } from '../../components/problem';
import { Skeleton } from '../../components/skeleton';
import { Time } from '../../components/time';
import { memberText } from '../delivery/raw-body';
import { EventData } from './event-data';
import { EventDeliveries } from './event-deliveries';

type Event = components['schemas']['Event'];

interface EventPageProps {
  readonly params: Readonly<Record<string, string>>;
}

/** One event: what was published, and where it went. */
export function EventPage({ params: { id = '' } }: EventPageProps) {
  const { data: text, error, refetch } = useEventText(id);
  const event = text === undefined ? undefined : (JSON.parse(text) as Event);
  return (
    <>
      <PageHeader title={event?.type ?? 'Event'} parent={{ href: '/events', label: 'Events' }} />
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!event && !error && <Skeleton lines={10} />}
      {event && <EventFacts event={event} />}
      {event && text !== undefined && <Payload event={event} data={memberText(text, 'data')} />}
      <EventDeliveries eventId={id} />
    </>
  );
}

function EventFacts({ event: { id, type, created_at: at, deliveries } }: { readonly event: Event }) {
  const went = Object.entries(deliveries).filter(([name, count]) => name !== 'total' && count > 0);
  return (
    <Facts
      facts={{
        Id: (
          <>
            <code>{id}</code> <CopyButton text={id} label="Copy the event’s id" />
          </>
        ),
        Type: <Link href={`/event-types/${type}`}>{type}</Link>,
        Published: <Time at={at} />,
        Deliveries: `${deliveries.total}${went.map(([name, count]) => `, ${count} ${name}`).join('')}`,
      }}
    />
  );
}

interface PayloadProps {
  readonly event: Event;
  readonly data: string | undefined;
}

function Payload({ event: { payload_erased_at: erasedAt }, data }: PayloadProps) {
  if (erasedAt === null) return data !== undefined && <EventData data={data} />;
  return (
    <Empty title="The payload was erased">
      <p>
        At <Time at={erasedAt} />, for good. Its record stays.
      </p>
    </Empty>
  );
}
