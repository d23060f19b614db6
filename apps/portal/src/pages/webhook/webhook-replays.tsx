import { t } from '@lingui/core/macro';
import { Link } from 'wouter';
import type { Replay } from '../../api/replay-queries';
import lines from '../../components/lines.module.css';
import { Section } from '../../components/section';
import { Time } from '../../components/time';
import { formatCount, formatTimeRange } from '../../language/formats';
import { ReplayStatus } from '../replay/replay-status';

/** The last ones of a webhook. */
export function WebhookReplays({ replays }: { readonly replays: readonly Replay[] }) {
  return (
    <Section title={t`Last replays`}>
      <ul className={lines['lines']}>
        {replays.map((replay) => (
          <li key={replay.id}>
            <ReplayStatus replay={replay} />
            <Link href={`/replays/${replay.id}`}>
              {formatTimeRange(Date.parse(replay.since), Date.parse(replay.until))}
            </Link>
            <span>{countText(replay)}</span>
            <Time at={replay.created_at} form="ago" />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function countText({ dry_run: isDryRun, found, enqueued }: Replay): string {
  const [all, sent] = [formatCount(found), formatCount(enqueued)];
  return isDryRun ? t`counted ${all}` : t`${sent} of ${all} sent`;
}
