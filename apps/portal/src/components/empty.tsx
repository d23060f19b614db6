import type { ReactNode } from 'react';
import styles from './empty.module.css';

export interface EmptyProps {
  readonly title: string;
  /** Why there may be nothing, and what to do about it. */
  readonly children?: ReactNode;
}

export function Empty({ title, children }: EmptyProps) {
  return (
    <div className={styles['empty']}>
      <p className={styles['title']}>{title}</p>
      {children}
    </div>
  );
}
