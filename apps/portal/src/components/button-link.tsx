import type { ReactNode } from 'react';
import { Link } from 'wouter';
import styles from './button.module.css';

export interface ButtonLinkProps {
  readonly href: string;
  readonly kind?: 'primary' | 'plain';
  readonly children: ReactNode;
  readonly onClick?: () => void;
}

/** A link to another page that stands among buttons. */
export function ButtonLink({ href, kind = 'plain', children, onClick }: ButtonLinkProps) {
  return (
    <Link
      href={href}
      className={`${styles['button']} ${styles[kind]} ${styles['normal']}`}
      {...(onClick && { onClick })}
    >
      {children}
    </Link>
  );
}
