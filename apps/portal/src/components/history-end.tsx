import { Button } from './button';
import styles from './read-on.module.css';

export interface HistoryEndProps {
  readonly isBusy: boolean;
  readonly onRetry: () => void;
}

/** Below a list that goes on in the history, while that is not reachable. */
export function HistoryEnd({ isBusy, onRetry }: HistoryEndProps) {
  return (
    <output className={styles['more']}>
      <p>The list ends here for now: what is older can’t be reached at the moment.</p>
      <Button size="small" isBusy={isBusy} onClick={onRetry}>
        Try again
      </Button>
    </output>
  );
}
