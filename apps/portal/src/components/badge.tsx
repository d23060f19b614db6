import type { ReactNode } from 'react';
import styles from './badge.module.css';

export type Tone = 'good' | 'bad' | 'warning' | 'busy' | 'neutral';

// Told apart without colour too.
const SHAPES: Readonly<Record<Tone, string>> = { good: '●', bad: '✕', warning: '▲', busy: '◐', neutral: '○' };

export interface BadgeProps {
  readonly tone: Tone;
  readonly children: ReactNode;
}

export function Badge({ tone, children }: BadgeProps) {
  return (
    <span className={`${styles['badge']} ${styles[tone]}`}>
      <span aria-hidden="true" className={styles['shape']}>
        {SHAPES[tone]}
      </span>
      {children}
    </span>
  );
}
