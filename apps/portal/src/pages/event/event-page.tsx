import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { type ReactNode, useMemo, useState } from 'react';
import { Link } from 'wouter';
import { type DeliveryStatus, useDeliveries, useEventText } from '../../api/delivery-queries';
import { Badge } from '../../components/badge';
import { Empty } from '../../components/empty';
import { Facts } from '../../components/facts';
import { memberText } from '../../components/json-text';
import { Problem } from '../../components/problem';
import { WholeId } from '../../components/short-id';
import { Skeleton } from '../../components/skeleton';
import { Time } from '../../components/time';
import { formatCount, formatRow } from '../../language/formats';
import { useCan } from '../../session/session-context';
import { ChangesIfAny } from '../audit-log/changes-section';
import { countOf, statuses } from '../deliveries/words';
import { Countdown, useReadWhenDue } from '../events/countdown';
import { ScheduleActions, ScheduleDialog, type ScheduleWish } from '../events/schedule-actions';
import { PageHeader } from '../page-header';
import { EventData } from './event-data';
import { EventDeliveries } from './event-deliveries';
import { EventLead } from './event-lead';
import { EventTimeline } from './event-timeline';
import { NotSentTo } from './not-sent-to';

type Event = components['schemas']['Event'];

interface EventPageProps {
  readonly params: Readonly<Record<string, string>>;
}

/** One event: what was published, and where it went. */
export function EventPage({ params: { id = '' } }: EventPageProps) {
  const { data: text, error, refetch } = useEventText(id);
  const event = text === undefined ? undefined : (JSON.parse(text) as Event);
  // What is below shows them: they are read beside the event, and not after it.
  useDeliveries(useMemo(() => ({ event_id: id }), [id]));
  const mayChange = useCan('schedule');
  const [wish, setWish] = useState<ScheduleWish>();
  useReadWhenDue(event?.status === 'scheduled' ? event.deliver_at : null, () => void refetch());
  return (
    <>
      <PageHeader
        title={event?.type ?? t`Event`}
        parent={{ href: '/events', label: t`Events` }}
        state={event && STATES[event.status]}
      >
        {event?.status === 'scheduled' && mayChange && event.deliver_at && (
          <ScheduleActions id={event.id} type={event.type} at={event.deliver_at} onAsk={setWish} />
        )}
      </PageHeader>
      {wish && <ScheduleDialog wish={wish} onClose={() => setWish(undefined)} />}
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!event && !error && <Skeleton lines={10} />}
      {event && <EventLead event={event} />}
      {event && <EventFacts event={event} />}
      {event && <EventTimeline event={event} />}
      {event && text !== undefined && <Payload event={event} data={memberText(text, 'data')} />}
      {/* Below what is as long as the event has it: nothing may move when that comes. */}
      {(event ?? error) && (
        <>
          <EventDeliveries
            eventId={id}
            hint={HINTS[event?.status ?? 'accepted']}
            count={event?.deliveries.total}
          />
          {event?.status === 'accepted' && <NotSentTo eventId={id} />}
          <ChangesIfAny target={id} />
        </>
      )}
    </>
  );
}

const STATES: Readonly<Record<Event['status'], ReactNode>> = {
  accepted: undefined,
  scheduled: (
    <Badge tone="busy">
      <Trans>Scheduled</Trans>
    </Badge>
  ),
  cancelled: (
    <Badge tone="neutral">
      <Trans context="event">Cancelled</Trans>
    </Badge>
  ),
};

/** Why it went nowhere. */
const HINTS: Readonly<Record<Event['status'], string>> = {
  accepted: t`No webhook got it. The reasons are below.`,
  scheduled: t`It is sent to the webhooks that are subscribed to its type when it is due.`,
  cancelled: t`It was cancelled before it was due.`,
};

function EventFacts({ event }: { readonly event: Event }) {
  const { id, type, created_at: at, group, deliveries, request_id: requestId } = event;
  const went = (Object.keys(statuses) as DeliveryStatus[])
    .filter((status) => deliveries[status] > 0)
    .map((status) => countOf(status, deliveries[status]));
  return (
    <Facts
      facts={{
        [t`Id`]: <WholeId id={id} label={t`Copy the event’s id`} />,
        [t`Type`]: <Link href={`/event-types/${type}`}>{type}</Link>,
        ...(group === null ? {} : { [t`Group`]: group }),
        [t`Published`]: <Time at={at} />,
        ...dueOf(event),
        [t`Deliveries`]: [formatCount(deliveries.total), formatRow(went)].filter(Boolean).join(': '),
        ...(requestId === null
          ? {}
          : {
              [t`Request`]: (
                <WholeId id={requestId} label={t`Copy the id of the request that published it`} />
              ),
            }),
      }}
    />
  );
}

/** The due time of a scheduled event; nothing for an event that was sent at once. */
function dueOf({ status, deliver_at: at }: Event): Readonly<Record<string, ReactNode>> {
  if (at === null) return {};
  if (status === 'cancelled') return { [t`Would be due`]: <Time at={at} /> };
  if (status !== 'scheduled') return { [t`Was due`]: <Time at={at} /> };
  return {
    [t`Due`]: (
      <>
        <Time at={at} /> · <Countdown until={at} hasIn />
      </>
    ),
  };
}

interface PayloadProps {
  readonly event: Event;
  readonly data: string | undefined;
}

function Payload({ event: { payload_erased_at: erasedAt }, data }: PayloadProps) {
  if (erasedAt === null) return data !== undefined && <EventData data={data} />;
  return (
    <Empty title={t`The payload was erased`}>
      <p>
        <Trans>
          At <Time at={erasedAt} />, for good. Its record stays.
        </Trans>
      </p>
    </Empty>
  );
}
