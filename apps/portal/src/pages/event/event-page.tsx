import { Link } from 'wouter';
import { useEvent } from '../../api/event-queries';
import { CodeBlock } from '../../components/code-block';
import { CopyButton } from '../../components/copy-button';
import { Facts } from '../../components/facts';
import { PageHeader } from '../../components/page-header';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { Skeleton } from '../../components/skeleton';
import { Time } from '../../components/time';
import { EventDeliveries } from './event-deliveries';
import { readEvent, type ShownEvent } from './read-event';

interface EventPageProps {
  readonly params: Readonly<Record<string, string>>;
}

/** One event: what was published, and where it went. */
export function EventPage({ params: { id = '' } }: EventPageProps) {
  const { data: text, error, refetch } = useEvent(id);
  const shown = text === undefined ? undefined : readEvent(text);
  return (
    <>
      <PageHeader title={shown?.event.type ?? 'Event'} parent={{ href: '/events', label: 'Events' }} />
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!shown && !error && <Skeleton lines={10} />}
      {shown && <Published shown={shown} />}
      <EventDeliveries eventId={id} />
    </>
  );
}

function Published({ shown: { event, dataText } }: { readonly shown: ShownEvent }) {
  const { id, type, created_at: at, payload_erased_at: erasedAt, deliveries } = event;
  const went = Object.entries(deliveries).filter(([name, count]) => name !== 'total' && count > 0);
  return (
    <>
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
      <Section title="Data">
        {erasedAt === null ? (
          <CodeBlock text={dataText} label="Data as it was published" />
        ) : (
          <p>
            Erased, for good: <Time at={erasedAt} />
          </p>
        )}
      </Section>
    </>
  );
}
