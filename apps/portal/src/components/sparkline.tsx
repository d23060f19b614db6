import styles from './sparkline.module.css';
import { HEIGHT, pathOf, WIDTH } from './sparkline-path';

export interface SparklineProps {
  /** Oldest first; null: nothing was measured, and the line has a gap there. */
  readonly values: readonly (number | null)[];
  /** The line in words, for screen readers. */
  readonly label: string;
  /** The value at the top; by default the highest one. */
  readonly most?: number;
  readonly tone?: 'accent' | 'good' | 'bad';
}

/** A figure over time, as a line of a word's height. */
export function Sparkline({ values, label, most, tone = 'accent' }: SparklineProps) {
  const top = most ?? Math.max(...values.map((value) => value ?? 0), 1);
  return (
    <svg
      // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- an <img> could not take the page's colours
      role="img"
      aria-label={label}
      className={`${styles['sparkline']} ${styles[tone]}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
    >
      <path className={styles['ground']} d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} />
      <path className={styles['line']} d={pathOf(values, top)} />
    </svg>
  );
}
