import { notifyManager, useQueryClient } from '@tanstack/react-query';
import { useCallback, useSyncExternalStore } from 'react';
import styles from './outage-notice.module.css';
import { isOld } from './update-queries';

/** Says that what is on the page could not be read anew. Where nothing was read yet, the page itself says it. */
export function OutageNotice() {
  const cache = useQueryClient().getQueryCache();
  const watch = useCallback(
    (onChange: () => void) => cache.subscribe(notifyManager.batchCalls(onChange)),
    [cache],
  );
  const hasOld = useSyncExternalStore(watch, () => cache.findAll({ type: 'active' }).some(isOld));
  return (
    <output className={hasOld ? styles['notice'] : undefined}>
      {hasOld &&
        'The service does not answer as it should. What you see may be old; the page looks again by itself.'}
    </output>
  );
}
