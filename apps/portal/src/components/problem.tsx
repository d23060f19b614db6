import { ProblemError } from '../api/problem';
import { Button } from './button';
import { CopyButton } from './copy-button';
import styles from './problem.module.css';

export interface ProblemProps {
  readonly error: Error;
  readonly onRetry?: (() => void) | undefined;
}

/** What went wrong, how it can be found in the log, and what to do next. */
export function Problem({ error, onRetry }: ProblemProps) {
  const problem = error instanceof ProblemError ? error : undefined;
  return (
    <div role="alert" className={styles['problem']}>
      <p className={styles['title']}>{problem?.title ?? 'This page has a fault'}</p>
      <p>{error.message}</p>
      {problem && problem.faults.length > 0 && (
        <ul>
          {problem.faults.map(({ pointer, detail }) => (
            <li key={`${pointer} ${detail}`}>
              <code>{pointer}</code> {detail}
            </li>
          ))}
        </ul>
      )}
      <p>{nextStep(problem)}</p>
      {problem?.requestId && (
        <p className={styles['request']}>
          Request <code>{problem.requestId}</code>
          <CopyButton text={problem.requestId} label="Copy the request’s id" />
        </p>
      )}
      {onRetry && (
        <Button size="small" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

function nextStep(problem: ProblemError | undefined): string {
  if (!problem) return 'Load the page again. If it comes back, tell whoever runs the service what you did.';
  if (problem.status === 0) return 'Nothing was changed by this page meanwhile.';
  if (problem.status === 401) return 'Open the portal again from where you came.';
  if (problem.status === 403) return 'This session may not do that: ask whoever gave you the link.';
  if (problem.status === 404) return 'It may have been deleted, or its time to be kept is over.';
  if (problem.status === 409) return 'Something changed meanwhile: look at it again.';
  if (problem.status === 429) return 'Too much was asked for at once: wait a moment.';
  if (problem.isPassing) return 'Try again in a moment. If it stays, pass the request’s id on to support.';
  return 'Correct what is named, and try again.';
}
