import { t } from '@lingui/core/macro';
import styles from './skeleton.module.css';

export interface SkeletonProps {
  /** As many lines as what comes is likely to have, so that nothing moves. */
  readonly lines?: number;
}

export function Skeleton({ lines = 3 }: SkeletonProps) {
  return (
    <output aria-label={t`Loading`} className={styles['lines']}>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} className={styles['line']} />
      ))}
    </output>
  );
}
