import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { createContext, useContext } from 'react';
import { Link } from 'wouter';
import { ProblemError } from '../api/problem';
import { Button } from './button';
import { CopyButton } from './copy-button';
import styles from './problem.module.css';
import { formatCountdown, useCountdown } from './use-countdown';

/** The address of the page that gives a session, and leads back to this one; undefined: none is known. */
export const WayIn = createContext<() => string | undefined>(() => undefined);

export interface ProblemProps {
  readonly error: Error;
  readonly onRetry?: (() => void) | undefined;
  readonly retryLabel?: string;
  /** Given on pages without a session. */
  readonly words?: ProblemWords;
}

/** Shown in place of the API's title and explanation. */
type Words = readonly [title: string, text?: string];
export type ProblemWords = Partial<Record<ProblemError['code'], Words>>;

const TOO_LITTLE: Words = [t`Your link does not allow that`, t`It was made for less.`];

/** For people who came by a link: the API speaks to programs, which have keys. */
const USUAL_WORDS: ProblemWords = {
  unauthenticated: [t`The session has ended`, t`Your request needs a new session.`],
  insufficient_scope: TOO_LITTLE,
  invalid_request: [t`Something is not right yet`],
  operator_only: TOO_LITTLE,
  precondition_failed: [
    t`Somebody else changed it in the meantime`,
    t`Nothing was saved, and nothing that you typed is lost.`,
  ],
};

/** Of what is only read. */
const READ_AGAIN = t`The page tries again by itself. If it stays like this, tell the operator of the service.`;

/** An error: its cause, the request's id for the log, and the next step. */
export function Problem({ error, onRetry, retryLabel = t`Try again`, words = USUAL_WORDS }: ProblemProps) {
  const problem = error instanceof ProblemError ? error : undefined;
  const requestId = problem?.requestId;
  const faults = problem?.validationErrors ?? [];
  const [title, text] = wordsOf(error, words);
  return (
    <div role="alert" className={styles['problem']}>
      <p className={styles['title']}>{title}</p>
      {faults.length === 0 && text !== undefined && <p>{text}</p>}
      {/* The words of the service, which name the case. */}
      {faults.length === 0 && text === undefined && (
        <p lang="en">
          <bdi>{error.message}</bdi>
        </p>
      )}
      {faults.length > 0 && (
        <ul>
          {faults.map(({ pointer, detail }) => (
            <li key={`${pointer} ${detail}`}>
              <code>{pointer.slice(1)}</code> <bdi>{detail}</bdi>
            </li>
          ))}
        </ul>
      )}
      <p>{problem?.isPassing && onRetry ? READ_AGAIN : nextStep(problem)}</p>
      {problem?.status === 401 && <EntryLink />}
      {requestId && (
        <p className={styles['request']}>
          <Trans>
            Request <code>{requestId}</code>
          </Trans>
          <CopyButton text={requestId} label={t`Copy the request’s id`} />
        </p>
      )}
      {problem?.retryAt !== undefined && (
        <WaitingButton until={problem.retryAt} label={retryLabel} onRetry={onRetry} />
      )}
      {onRetry && problem?.status === 404 && <Link href="/overview">{t`To the overview`}</Link>}
      {/* Without a session, nothing that is tried again works, and what is gone does not come back. */}
      {onRetry && problem?.retryAt === undefined && problem?.status !== 401 && problem?.status !== 404 && (
        <Button size="small" onClick={onRetry}>
          {retryLabel}
        </Button>
      )}
    </div>
  );
}

interface WaitingButtonProps {
  readonly until: string;
  readonly label: string;
  /** Absent: it is tried again elsewhere, by the button of a form. */
  readonly onRetry: (() => void) | undefined;
}

/** The time that the service wants to be asked nothing, which passes. */
function WaitingButton({ until, label, onRetry }: WaitingButtonProps) {
  const seconds = useCountdown(until);
  const time = formatCountdown(seconds);
  const text = seconds > 0 ? t`${label} in ${time}` : label;
  if (!onRetry) return <p>{text}</p>;
  return (
    <Button size="small" disabled={seconds > 0} onClick={onRetry}>
      {text}
    </Button>
  );
}

/** To the operator's page that gives a session, if there is one. */
function EntryLink() {
  const href = useContext(WayIn)();
  return href === undefined ? null : <a href={href}>{t`Open the portal again`}</a>;
}

/** Without a text the service's own stands for it. */
function wordsOf(error: Error, words: ProblemWords): Words {
  if (!(error instanceof ProblemError)) return [t`This page has a fault`];
  // Of the portal itself, in the viewer's language.
  if (error.code === 'unreachable' || error.code === 'unknown') return [error.title, error.detail];
  return words[error.code] ?? [error.title];
}

function nextStep(problem: ProblemError | undefined): string {
  if (!problem)
    return t`Reload the page. If the fault comes back, tell the operator of the service what you did.`;
  if (problem.status === 0) return t`The service may have received the request: check before you try again.`;
  if (problem.status === 401) return t`Open the portal again with a new link.`;
  if (problem.status === 403) return t`Ask the person who gave you the link for one that does.`;
  if (problem.status === 404) return t`It may have been deleted, or it may have expired.`;
  if (problem.status === 409) return t`Something changed in the meantime: check it again.`;
  if (problem.status === 412)
    return t`Load it as it is now, with your changes in it. Check it, and save again.`;
  if (problem.status === 429) return t`There were too many requests at once: wait a moment.`;
  if (problem.isPassing)
    return t`Try again in a moment. If the error stays, give the request’s id to the operator.`;
  return t`Correct the fields that are named, and try again.`;
}
