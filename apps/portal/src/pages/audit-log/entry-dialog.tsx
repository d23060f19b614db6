import { t } from '@lingui/core/macro';
import { Link } from 'wouter';
import type { AuditEntry } from '../../api/audit-queries';
import { DetailsDialog } from '../../components/details-dialog';
import { Facts } from '../../components/facts';
import { WholeId } from '../../components/short-id';
import { Time } from '../../components/time';
import styles from './audit-log.module.css';
import { actionText, actorFilter, nameOfActor, pageOfTarget } from './audit-texts';
import { OutcomeBadge } from './outcome-badge';

interface EntryDialogProps {
  readonly entry: AuditEntry;
  /** Of webhooks and API keys, by id. */
  readonly names: ReadonlyMap<string, string>;
  /** The address of the log, narrowed to a value of a filter. */
  readonly logOf: (filter: 'actor' | 'target', value: string) => string;
  readonly onClose: () => void;
}

/** All that an entry of the audit log says. */
export function EntryDialog({ entry, names, logOf, onClose }: EntryDialogProps) {
  const { account_id: account, actor, action, target, code, address, changes } = entry;
  const { request_id: request, client_request_id: clientRequest } = entry;
  const page = pageOfTarget(entry);
  return (
    <DetailsDialog title={actionText(action)} onClose={onClose}>
      <Facts
        facts={{
          [t`When`]: <Time at={entry.created_at} />,
          [t`Who`]: (
            <>
              {nameOfActor(actor)} <code>{actor.type}</code> {'id' in actor && <WholeId id={actor.id} />}{' '}
              <Link href={logOf('actor', actorFilter(actor))} onClick={onClose}>
                {t`All by this actor`}
              </Link>
            </>
          ),
          [t`What`]: <code>{action}</code>,
          [t`Target`]: target ? (
            <>
              <TargetName name={names.get(target.id)} page={page} /> <WholeId id={target.id} />{' '}
              <Link href={logOf('target', target.id)} onClick={onClose}>
                {t`All about it`}
              </Link>
            </>
          ) : undefined,
          [t`Outcome`]: (
            <>
              <OutcomeBadge entry={entry} /> {code && <code>{code}</code>}
            </>
          ),
          [t`Address`]: address ?? t({ message: 'not known', context: 'address' }),
          [t`Account`]: account ?? t({ message: 'none', context: 'account' }),
          [t`Request`]: request ? <code>{request}</code> : undefined,
          [t`The client's name for it`]: clientRequest ? <code>{clientRequest}</code> : undefined,
          [t`Changed`]: changes.length > 0 ? <Changes changes={changes} /> : undefined,
        }}
      />
    </DetailsDialog>
  );
}

interface TargetNameProps {
  readonly name: string | undefined;
  readonly page: string | undefined;
}

function TargetName({ name, page }: TargetNameProps) {
  if (page === undefined) return name;
  return <Link href={page}>{name ?? t`Its page`}</Link>;
}

function Changes({ changes }: Pick<AuditEntry, 'changes'>) {
  return (
    <ul className={styles['changes']}>
      {changes.map(({ field, from, to }) => (
        <li key={field}>
          <code>{field}</code>
          {(from !== undefined || to !== undefined) && <>: {changeText(valueText(from), valueText(to))}</>}
        </li>
      ))}
    </ul>
  );
}

const changeText = (before: string, after: string) => t`${before} → ${after}`;

/** Of what may be secret, an entry has neither side; so one that is absent was not set. */
const valueText = (value: unknown) => (value === undefined ? t`not set` : JSON.stringify(value));
