import { t } from '@lingui/core/macro';
import { Link } from 'wouter';
import { useChanges } from '../../api/audit-queries';
import lines from '../../components/lines.module.css';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { Time } from '../../components/time';
import { useCan } from '../../session/session-context';
import { actionText, actorText, changedText } from './audit-texts';
import { OutcomeBadge } from './outcome-badge';

interface ChangesSectionProps {
  readonly changes: Pick<ReturnType<typeof useChanges>, 'data' | 'error' | 'refetch'>;
  /** Whose they are: the id of a webhook, an event, … */
  readonly target: string;
}

/** The latest changes of one object. */
export function ChangesSection({ target, changes: { data, error, refetch } }: ChangesSectionProps) {
  return (
    <Section
      title={t`Changes`}
      actions={
        <Link href={`/audit-log?target=${encodeURIComponent(target)}`}>{t`All in the audit log`}</Link>
      }
    >
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {data?.length === 0 && <p>{t`No changes are recorded.`}</p>}
      <ul className={lines['lines']}>
        {data?.map((entry) => (
          <li key={entry.id}>
            <OutcomeBadge entry={entry} />
            <span>{actionText(entry.action)}</span>
            {entry.changes.length > 0 && <span>{changedText(entry)}</span>}
            <span>{actorText(entry.actor)}</span>
            <Time at={entry.created_at} form="ago" />
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** The same at the end of a page, for what is seldom changed: nothing while there are none. */
export function ChangesIfAny({ target }: Pick<ChangesSectionProps, 'target'>) {
  const changes = useChanges(target, useCan('audit'));
  if (!changes.error && !changes.data?.length) return null;
  return <ChangesSection target={target} changes={changes} />;
}
