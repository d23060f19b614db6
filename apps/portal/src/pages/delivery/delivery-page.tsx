import { Link } from 'wouter';
import { type DeliveryWithAttempts, useDelivery } from '../../api/delivery-queries';
import { useWebhook } from '../../api/webhook-queries';
import { CopyButton } from '../../components/copy-button';
import { Facts } from '../../components/facts';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { Skeleton } from '../../components/skeleton';
import { Time } from '../../components/time';
import { useCan } from '../../session/session-context';
import { ChangesIfAny } from '../audit-log/changes-section';
import { StatusBadge } from '../deliveries/status-badge';
import { nameOf } from '../deliveries/webhook-names';
import { PageHeader } from '../page-header';
import { AttemptDetails } from './attempt-details';
import { BodySection } from './body-section';
import { CompareAttempts } from './compare-attempts';
import { Redeliver } from './redeliver';
import { Timeline } from './timeline';
import { WhatNext } from './what-next';

const LIST = { href: '/deliveries', label: 'Deliveries' };

/** One delivery: its next step, its attempts, and its body. */
export function DeliveryPage({ params: { id = '' } }: { readonly params: Readonly<Record<string, string>> }) {
  const { data: delivery, error, refetch } = useDelivery(id);
  if (!delivery) {
    return (
      <>
        <PageHeader title="Delivery" parent={LIST} />
        {error ? <Problem error={error} onRetry={() => void refetch()} /> : <Skeleton lines={8} />}
      </>
    );
  }
  return (
    <>
      <Head delivery={delivery} />
      <Section title="What happens next">
        <p>
          <WhatNext delivery={delivery} />
        </p>
      </Section>
      <Timeline delivery={delivery} />
      <Section title="About">
        <About delivery={delivery} />
      </Section>
      <Attempts delivery={delivery} />
      {delivery.attempts.length > 1 && <CompareAttempts attempts={delivery.attempts} />}
      <BodySection delivery={delivery} />
      <ChangesIfAny target={delivery.id} />
    </>
  );
}

interface Part {
  readonly delivery: DeliveryWithAttempts;
}

function Head({ delivery }: Part) {
  const mayRedeliver = useCan('redeliver');
  return (
    <PageHeader title={delivery.event_type} parent={LIST} state={<StatusBadge status={delivery.status} />}>
      {mayRedeliver && <Redeliver delivery={delivery} />}
    </PageHeader>
  );
}

function About({ delivery: { id, event_id: eventId, webhook_id: webhookId, created_at: createdAt } }: Part) {
  const { data: webhook } = useWebhook(webhookId);
  return (
    <Facts
      facts={{
        Delivery: (
          <>
            <code>{id}</code> <CopyButton text={id} label="Copy the delivery’s id" />
          </>
        ),
        Event: (
          <Link href={`/events/${eventId}`}>
            <code>{eventId}</code>
          </Link>
        ),
        Webhook: (
          <Link href={`/webhooks/${webhookId}`}>{webhook ? nameOf(webhook) : <code>{webhookId}</code>}</Link>
        ),
        // There from the beginning, so that nothing moves when it comes.
        Request: <code>{webhook ? `POST ${webhook.url}` : 'POST'}</code>,
        Accepted: <Time at={createdAt} />,
      }}
    />
  );
}

/** The last one first, and open: it is the one that says how things are. */
function Attempts({ delivery: { attempts } }: Part) {
  return (
    <Section title={`Attempts (${attempts.length})`}>
      {attempts.length === 0 && <p>There was none yet.</p>}
      {attempts.toReversed().map((attempt, index) => (
        <AttemptDetails key={attempt.number} attempt={attempt} isOpen={index === 0} />
      ))}
    </Section>
  );
}
