import type { ReactNode } from 'react';
import { Link } from 'wouter';
import styles from './page-header.module.css';

export interface PageHeaderProps {
  readonly title: ReactNode;
  /** The list that this is one of. */
  readonly parent?: { readonly href: string; readonly label: string };
  /** Beside the title, such as a badge. */
  readonly state?: ReactNode;
  /** The buttons of the page. */
  readonly children?: ReactNode;
}

export function PageHeader({ title, parent, state, children }: PageHeaderProps) {
  return (
    <div className={styles['header']}>
      <div className={styles['titles']}>
        {parent && (
          <p className={styles['parent']}>
            <Link href={parent.href}>{parent.label}</Link>
          </p>
        )}
        <div className={styles['title']}>
          <h1>{title}</h1>
          {state}
        </div>
      </div>
      {children && <div className={styles['actions']}>{children}</div>}
    </div>
  );
}
