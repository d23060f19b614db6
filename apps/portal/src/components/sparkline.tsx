import styles from './sparkline.module.css';
import { HEIGHT, pathOf, placesOf, WIDTH } from './sparkline-path';

export interface SparklineProps {
  /** Oldest first; null: nothing was measured, and the line goes over it. */
  readonly values: readonly (number | null)[];
  /** The line in words, for screen readers. */
  readonly label: string;
  /** The value at the top; by default the highest one. */
  readonly most?: number;
  readonly tone?: 'accent' | 'good' | 'bad';
  /** The values at the top and at the bottom, in words, beside the line. */
  readonly scale?: readonly [top: string, bottom: string];
}

/** A figure over time, as a line of a word's height. */
export function Sparkline({ values, label, most, tone = 'accent', scale }: SparklineProps) {
  const top = most ?? Math.max(...values.map((value) => value ?? 0), 1);
  const places = placesOf(values, top);
  const last = places.at(-1);
  const line = (
    <svg
      // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- an <img> could not take the page's colours
      role="img"
      aria-label={label}
      className={`${styles['sparkline']} ${styles[tone]}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
    >
      {scale && <path className={styles['ground']} d={`M0 0.5H${WIDTH}`} />}
      <path className={styles['ground']} d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} />
      <path className={styles['line']} d={pathOf(places)} />
      {last && <circle className={styles['last']} cx={last[0]} cy={last[1]} r={2} />}
    </svg>
  );
  if (!scale) return line;
  return (
    <span className={styles['scaled']}>
      {line}
      <span className={styles['scale']} aria-hidden="true">
        <span>{scale[0]}</span>
        <span>{scale[1]}</span>
      </span>
    </span>
  );
}
