import { Link } from 'wouter';
import type { useChanges } from '../../api/audit-queries';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { Time } from '../../components/time';
import { actionText, actorText, changedText } from '../audit-log/audit-texts';
import { OutcomeBadge } from '../audit-log/outcome-badge';
import styles from './webhook-page.module.css';

interface WebhookChangesProps {
  readonly webhookId: string;
  readonly changes: Pick<ReturnType<typeof useChanges>, 'data' | 'error' | 'refetch'>;
}

/** Who did something to a webhook lately. */
export function WebhookChanges({ webhookId, changes: { data, error, refetch } }: WebhookChangesProps) {
  return (
    <Section
      title="Changes"
      actions={<Link href={`/audit-log?target=${encodeURIComponent(webhookId)}`}>All in the audit log</Link>}
    >
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {data?.length === 0 && <p>None are on record.</p>}
      <ul className={styles['lines']}>
        {data?.map((entry) => (
          <li key={entry.id}>
            <OutcomeBadge entry={entry} />
            <span>{actionText(entry.action)}</span>
            {entry.changes.length > 0 && <span>{changedText(entry)}</span>}
            <span>{actorText(entry.actor)}</span>
            <Time at={entry.at} form="short" />
          </li>
        ))}
      </ul>
    </Section>
  );
}
