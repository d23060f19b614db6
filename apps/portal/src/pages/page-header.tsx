import { t } from '@lingui/core/macro';
import { type ReactNode, useEffect, useRef } from 'react';
import { Link } from 'wouter';
import { useSession } from '../session/session-context';
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

/** The head of a page. Its title is also that of the tab. */
export function PageHeader({ title, parent, state, children }: PageHeaderProps) {
  const { theme } = useSession();
  const heading = useRef<HTMLHeadingElement>(null);
  // After each change: what a title says may come later.
  useEffect(() => {
    document.title = `${heading.current?.textContent ?? ''} · ${theme.name ?? t`Webhooks`}`;
  });
  return (
    <div className={styles['header']}>
      <div className={styles['titles']}>
        {parent && (
          <p className={styles['parent']}>
            <Link href={parent.href}>
              <bdi>{parent.label}</bdi>
            </Link>
          </p>
        )}
        <div className={styles['title']}>
          {/* It may be a name, whose signs stay where they are. */}
          <h1 ref={heading}>
            <bdi>{title}</bdi>
          </h1>
          {state}
        </div>
      </div>
      {children && <div className={styles['actions']}>{children}</div>}
    </div>
  );
}
