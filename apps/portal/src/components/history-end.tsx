import { t } from '@lingui/core/macro';
import { useEffect, useEffectEvent } from 'react';
import { Button } from './button';
import styles from './read-on.module.css';

export interface HistoryEndProps {
  readonly isBusy: boolean;
  readonly onRetry: () => void;
}

const LOOK_EVERY_MS = 5_000;

/** Below a list that goes on, while what follows is not reachable: that is tried now and then. */
export function HistoryEnd({ isBusy, onRetry }: HistoryEndProps) {
  const look = useEffectEvent(() => {
    if (!isBusy && document.visibilityState === 'visible') onRetry();
  });
  useEffect(() => {
    const timer = setInterval(() => look(), LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <output className={styles['more']}>
      <p>
        {t`The list ends here for now: older entries can’t be reached at the moment. The page tries again by itself.`}
      </p>
      <Button size="small" isBusy={isBusy} onClick={onRetry}>
        {t`Try again`}
      </Button>
    </output>
  );
}
