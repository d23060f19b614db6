import { Link } from 'wouter';
import type { Replay } from '../../api/replay-queries';
import { Section } from '../../components/section';
import { Time } from '../../components/time';
import { ReplayStatus } from '../replay/replay-status';
import { formatCount } from '../webhooks/health-figures';
import styles from './webhook-page.module.css';

/** The last ones of a webhook. */
export function WebhookReplays({ replays }: { readonly replays: readonly Replay[] }) {
  return (
    <Section title="Last replays">
      <ul className={styles['lines']}>
        {replays.map((replay) => (
          <li key={replay.id}>
            <ReplayStatus replay={replay} />
            <Link href={`/replays/${replay.id}`}>{replay.id}</Link>
            <span>
              {replay.dry_run
                ? `counted ${formatCount(replay.found)}`
                : `${formatCount(replay.enqueued)} of ${formatCount(replay.found)} sent`}
            </span>
            <Time at={replay.created_at} form="ago" />
          </li>
        ))}
      </ul>
    </Section>
  );
}
