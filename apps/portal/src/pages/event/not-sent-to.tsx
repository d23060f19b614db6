import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useState } from 'react';
import { Link } from 'wouter';
import { useExplanations } from '../../api/event-queries';
import { Button } from '../../components/button';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { Skeleton } from '../../components/skeleton';
import { formatTime } from '../../language/formats';
import { useWebhookNames } from '../deliveries/use-webhook-names';
import styles from './not-sent-to.module.css';

type Explanation = components['schemas']['Explanation'];

/** The webhooks that have no delivery of an event, each with the reason; at first those that subscribe to its type. */
export function NotSentTo({ eventId }: { readonly eventId: string }) {
  const [isAll, setAll] = useState(false);
  const { rows, error, refetch, hasMore, isReadingOn, readOn } = useExplanations(eventId, isAll);
  const names = useWebhookNames();
  return (
    <Section
      title={t`Not sent to`}
      actions={
        <Button size="small" aria-pressed={isAll} onClick={() => setAll(!isAll)}>
          <Trans>Not subscribed, too</Trans>
        </Button>
      }
    >
      {error && <Problem error={error} onRetry={refetch} />}
      {!rows && !error && <Skeleton lines={2} />}
      {rows?.length === 0 && !hasMore && (
        <p>
          {isAll
            ? t`It was sent to every webhook.`
            : t`It was sent to every webhook that subscribes to its type.`}
        </p>
      )}
      {rows && <Unsent rows={rows} names={names} />}
      {hasMore && (
        <Button isBusy={isReadingOn} onClick={readOn}>
          <Trans>More webhooks</Trans>
        </Button>
      )}
    </Section>
  );
}

interface UnsentProps {
  readonly rows: readonly Explanation[];
  readonly names: ReadonlyMap<string, string>;
}

export function Unsent({ rows, names }: UnsentProps) {
  return (
    <ul className={styles['list']} aria-label={t`Not sent to`}>
      {rows.map(({ webhook_id: id, webhook_uid: uid, webhook_url: url, detail }) => (
        <li key={id}>
          <Link href={`/webhooks/${id}`} className={styles['name']}>
            <bdi>{names.get(id) ?? uid ?? url ?? id}</bdi>
          </Link>
          <span>{withLocalTimes(detail)}</span>
        </li>
      ))}
    </ul>
  );
}

const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;

/** The service writes times for programs. */
const withLocalTimes = (detail: string) => detail.replace(TIME, (at) => formatTime(new Date(at)));
