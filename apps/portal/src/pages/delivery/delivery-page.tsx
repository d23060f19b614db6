import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useState } from 'react';
import { Link } from 'wouter';
import { type DeliveryWithAttempts, useDelivery, useDeliveryContent } from '../../api/delivery-queries';
import { useWebhook } from '../../api/webhook-queries';
import { Button } from '../../components/button';
import { CopyButton } from '../../components/copy-button';
import { Facts } from '../../components/facts';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { Skeleton } from '../../components/skeleton';
import { Time } from '../../components/time';
import { useCan } from '../../session/session-context';
import { ChangesIfAny } from '../audit-log/changes-section';
import { StatusBadge } from '../deliveries/status-badge';
import { ownNameOf } from '../deliveries/webhook-names';
import { PageHeader } from '../page-header';
import { AttemptDetails } from './attempt-details';
import { CompareAttempts } from './compare-attempts';
import { Redeliver } from './redeliver';
import { RequestBody } from './request-body';
import styles from './story.module.css';
import { Timeline } from './timeline';
import { VerifySignature } from './verify-signature';
import { WhatNext } from './what-next';

const LIST = { href: '/deliveries', label: t`Deliveries` };

/** One delivery: where it went, how it is and what to do, then its attempts. */
export function DeliveryPage({ params: { id = '' } }: { readonly params: Readonly<Record<string, string>> }) {
  const { data: delivery, error, refetch } = useDelivery(id);
  // Asked for at the same time: what comes later would move what is below it.
  const { isPending: isUnnamed } = useWebhook(id.slice(id.indexOf('.') + 1));
  const { isPending: isWithoutBody } = useDeliveryContent(id);
  if (!delivery || isUnnamed || isWithoutBody) {
    return (
      <>
        <PageHeader title={t`Delivery`} parent={LIST} />
        {error ? <Problem error={error} onRetry={() => void refetch()} /> : <Skeleton lines={8} />}
      </>
    );
  }
  return (
    <>
      <Head delivery={delivery} />
      <Receiver delivery={delivery} />
      <WhatNext delivery={delivery} />
      <Attempts delivery={delivery} />
      <Timeline delivery={delivery} />
      <Section title={t({ message: 'About', context: 'delivery' })}>
        <About delivery={delivery} />
      </Section>
      <Signatures delivery={delivery} />
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

/** Where it goes: the webhook by what its owner calls it, and the URL once. */
function Receiver({ delivery: { webhook_id: id } }: Part) {
  const { data: webhook } = useWebhook(id);
  if (!webhook) {
    return (
      <p className={styles['receiver']}>
        <code>POST</code>
        {' · '}
        <Link href={`/webhooks/${id}`}>
          <code>{id}</code>
        </Link>
      </p>
    );
  }
  return (
    <p className={styles['receiver']}>
      <code>POST {webhook.url}</code>
      {' · '}
      <Link href={`/webhooks/${id}`}>
        <bdi>{ownNameOf(webhook) ?? t`Webhook`}</bdi>
      </Link>
    </p>
  );
}

/** The last one first, and open: it is the one that says how things are. */
function Attempts({ delivery }: Part) {
  const { attempts } = delivery;
  const [isComparing, setComparing] = useState(false);
  if (attempts.length === 0) {
    return (
      <Section title={t`Request`}>
        <div className={styles['first']}>
          <RequestBody delivery={delivery} />
        </div>
      </Section>
    );
  }
  const attemptCount = attempts.length;
  const compare = attemptCount > 1 && (
    <Button size="small" aria-expanded={isComparing} onClick={() => setComparing(!isComparing)}>
      <Trans>Compare two</Trans>
    </Button>
  );
  return (
    <Section title={t`Attempts (${attemptCount})`} actions={compare}>
      {isComparing && <CompareAttempts attempts={attempts} />}
      {attempts.toReversed().map((attempt, index) => (
        <AttemptDetails key={attempt.number} attempt={attempt} isOpen={index === 0}>
          {index === 0 && <RequestBody delivery={delivery} />}
        </AttemptDetails>
      ))}
    </Section>
  );
}

function About({ delivery: { id, event_id: eventId, created_at: createdAt } }: Part) {
  return (
    <Facts
      facts={{
        [t`Delivery`]: (
          <>
            <code>{id}</code> <CopyButton text={id} label={t`Copy the delivery’s id`} />
          </>
        ),
        [t`Event`]: (
          <Link href={`/events/${eventId}`}>
            <code>{eventId}</code>
          </Link>
        ),
        [t({ message: 'Accepted', context: 'time' })]: <Time at={createdAt} />,
      }}
    />
  );
}

function Signatures({ delivery }: Part) {
  const { data } = useDeliveryContent(delivery.id);
  return data?.body && <VerifySignature delivery={delivery} body={data.body} />;
}
