import type { ReactNode } from 'react';
import styles from './banner.module.css';

/** Above every page: what holds for all of them until somebody does something about it. */
export function Banner({ children }: { readonly children: ReactNode }) {
  return (
    <div role="alert" className={styles['banner']}>
      <p>{children}</p>
    </div>
  );
}
