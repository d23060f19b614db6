import { Link } from 'wouter';
import { useReplays } from '../../api/replay-queries';
import { Section } from '../../components/section';
import { Time } from '../../components/time';
import { ReplayStatus } from '../replay/replay-status';
import styles from './webhook-page.module.css';

/** The last replays, if there were any. */
export function WebhookReplays({ webhookId }: { readonly webhookId: string }) {
  const { data: replays } = useReplays(webhookId);
  if (!replays || replays.length === 0) return null;
  return (
    <Section title="Last replays">
      <ul className={styles['replays']}>
        {replays.map((replay) => (
          <li key={replay.id}>
            <ReplayStatus replay={replay} />
            <Link href={`/replays/${replay.id}`}>{replay.id}</Link>
            <span>
              {replay.dry_run ? `counted ${replay.found}` : `${replay.enqueued} of ${replay.found} sent`}
            </span>
            <Time at={replay.created_at} form="short" />
          </li>
        ))}
      </ul>
    </Section>
  );
}
