import type { components } from '@hookferry/client';
import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useQueries } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import { useApi } from '../../api/api-context';
import { type Delivery, oneDelivery, useDeliveries } from '../../api/delivery-queries';
import { Button } from '../../components/button';
import { Section } from '../../components/section';
import { Time } from '../../components/time';
import { formatMs } from '../../language/formats';
import { StatusBadge } from '../deliveries/status-badge';
import { useWebhookNames } from '../deliveries/use-webhook-names';
import { type Range, rangeOf } from '../delivery/story';
import { Track } from '../delivery/timeline';
import { type Lane, laneOf, stepsOfEvent } from './event-story';
import styles from './event-timeline.module.css';

/** Each is read for its attempts, and drawn. */
const MOST_LANES = 12;

interface EventTimelineProps {
  readonly event: components['schemas']['Event'];
}

/** An event from its acceptance to the last attempt of its deliveries, also those to come, on one scale. */
export function EventTimeline({ event }: EventTimelineProps) {
  const [isTable, setTable] = useState(false);
  const { lanes, isRead } = useLanes(event.id);
  // Their places are there before they are: nothing below may move.
  const missing = isRead ? 0 : Math.min(event.deliveries.total, MOST_LANES);
  const ownSteps = stepsOfEvent(event);
  const range = rangeOf([...ownSteps, ...lanes.flatMap(({ steps }) => steps)]);
  const more = event.deliveries.total - lanes.length;
  const story = { ownSteps, lanes, missing, range, names: useWebhookNames() };
  return (
    <Section
      title={t`Time line`}
      actions={
        <Button size="small" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          <Trans>As a table</Trans>
        </Button>
      }
    >
      {isTable ? <StepsTable {...story} /> : <Lanes {...story} />}
      {more > 0 && lanes.length === MOST_LANES && (
        <p className={styles['soft']}>
          {plural(more, {
            one: 'And # more delivery, listed below.',
            other: 'And # more deliveries, listed below.',
          })}
        </p>
      )}
    </Section>
  );
}

/** The first deliveries of the list below, with their attempts as soon as these are read. */
function useLanes(eventId: string): { readonly lanes: readonly Lane[]; readonly isRead: boolean } {
  const api = useApi();
  const [now] = useState(() => new Date().getTime());
  const { data, isPending } = useDeliveries(useMemo(() => ({ event_id: eventId }), [eventId]));
  const shown = (data?.pages.flatMap((page) => page.data) ?? []).slice(0, MOST_LANES);
  const read = useQueries({
    queries: shown.map(({ id, attempt_count: count, status }) => ({
      ...oneDelivery(api, id),
      enabled: count > 0 || status === 'held',
    })),
  });
  // One to a webhook that was deleted can't be read alone: what its row says is there.
  const lanes = shown.map((delivery, index) => laneOf(delivery, read[index]?.data, now));
  return { lanes, isRead: !isPending };
}

// As high as a name.
const NO_NAME = '\u00a0';

interface StoryProps {
  readonly ownSteps: Lane['steps'];
  readonly lanes: readonly Lane[];
  /** How many lanes are being read. */
  readonly missing: number;
  readonly range: Range;
  readonly names: ReadonlyMap<string, string>;
}

function Lanes({ ownSteps, lanes, missing, range, names }: StoryProps) {
  return (
    <>
      <ul className={styles['lanes']} aria-label={t`Time line`}>
        <li>
          <span>
            <Trans>The event</Trans>
          </span>
          <Track steps={ownSteps} range={range} />
          <span className={styles['soft']}>{ownSteps.at(-1)?.text}</span>
        </li>
        {Array.from({ length: missing }, (_, index) => (
          <li key={index} aria-hidden="true">
            <span>{NO_NAME}</span>
            <Track steps={[]} range={range} />
          </li>
        ))}
        {lanes.map(({ delivery, steps }) => (
          <li key={delivery.id}>
            <Link href={`/deliveries/${encodeURIComponent(delivery.id)}`} className={styles['name']}>
              <bdi>{nameOf(delivery, names)}</bdi>
            </Link>
            <Track steps={steps} range={range} />
            <span className={styles['state']}>
              <StatusBadge status={delivery.status} />
              <span className={styles['soft']}>{attemptsText(delivery)}</span>
            </span>
          </li>
        ))}
      </ul>
      <p className={styles['ends']}>
        <Time at={new Date(range.from).toISOString()} form="short" />
        <span>
          {'+ '}
          {formatMs(range.to - range.from)}
        </span>
      </p>
    </>
  );
}

/** The same, step by step. */
function StepsTable({ ownSteps, lanes, range, names }: StoryProps) {
  const own = ownSteps.map((step) => ({ step, name: t`The event` }));
  const others = lanes.flatMap(({ delivery, steps }) =>
    steps.map((step) => ({ step, name: nameOf(delivery, names) })),
  );
  return (
    <table className={styles['table']} aria-label={t`Time line`}>
      <thead>
        <tr>
          <th scope="col">
            <Trans context="column of times">When</Trans>
          </th>
          <th scope="col">
            <Trans context="column of webhooks">To</Trans>
          </th>
          <th scope="col">
            <Trans context="column of steps">What</Trans>
          </th>
        </tr>
      </thead>
      <tbody>
        {[...own, ...others]
          .toSorted((a, b) => a.step.at - b.step.at)
          .map(({ step, name }, index) => (
            <tr key={index}>
              <td>
                <Time at={new Date(step.at).toISOString()} form="short" />{' '}
                <span className={styles['soft']}>{`+ ${formatMs(step.at - range.from)}`}</span>
              </td>
              <th scope="row">{name}</th>
              <td>{step.text}</td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}

const nameOf = ({ webhook_id: id }: Delivery, names: ReadonlyMap<string, string>) => names.get(id) ?? id;

function attemptsText({ attempt_count: count }: Delivery): string {
  if (count === 0) return t`no attempt`;
  return plural(count, { one: '# attempt', other: '# attempts' });
}
