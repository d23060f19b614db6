import styles from './sparkline.module.css';

const WIDTH = 96;
const HEIGHT = 24;
// A line of this width stays inside at the top and at the bottom.
const MARGIN = 2;

export interface SparklineProps {
  /** Oldest first; null: nothing was measured, and the line has a gap there. */
  readonly values: readonly (number | null)[];
  /** What it shows, in words: read aloud in its place. */
  readonly label: string;
  /** What reaches the top; by default the highest value. */
  readonly most?: number;
  readonly tone?: 'accent' | 'good' | 'bad';
}

/** How a figure went, as a line of a word's height. */
export function Sparkline({ values, label, most, tone = 'accent' }: SparklineProps) {
  const top = most ?? Math.max(...values.map((value) => value ?? 0), 1);
  return (
    <svg
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

/** A line through each run of values; a value between two gaps is a dot, which is a line of no length. */
export function pathOf(values: readonly (number | null)[], top: number): string {
  const step = values.length > 1 ? (WIDTH - 2 * MARGIN) / (values.length - 1) : 0;
  return values
    .map((value, index) => {
      if (value === null) return '';
      const x = round(MARGIN + index * step);
      const y = round(HEIGHT - MARGIN - (Math.min(value, top) / top) * (HEIGHT - 2 * MARGIN));
      const isFirst = (values[index - 1] ?? null) === null;
      const isAlone = isFirst && (values[index + 1] ?? null) === null;
      return `${isFirst ? 'M' : 'L'}${x} ${y}${isAlone ? 'h0' : ''}`;
    })
    .join('');
}

const round = (value: number) => Math.round(value * 10) / 10;
