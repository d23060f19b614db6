import { t } from '@lingui/core/macro';
import { notifyManager, useQueryClient } from '@tanstack/react-query';
import { useCallback, useSyncExternalStore } from 'react';
import styles from './outage-notice.module.css';
import { isOld } from './update-queries';

/** Says that the page's data could not be refreshed. If nothing was read yet, the page itself says so. */
export function OutageNotice() {
  const hasOld = useHasOld();
  return (
    <output className={hasOld ? styles['notice'] : undefined}>
      {hasOld &&
        t`The service does not respond as it should. What you see may be old; the page looks again by itself.`}
    </output>
  );
}

/** Whether something on the page could not be refreshed. */
export function useHasOld(): boolean {
  const cache = useQueryClient().getQueryCache();
  const watch = useCallback(
    (onChange: () => void) => cache.subscribe(notifyManager.batchCalls(onChange)),
    [cache],
  );
  return useSyncExternalStore(watch, () => cache.findAll({ type: 'active' }).some(isOld));
}
