import styles from './progress.module.css';

export interface ProgressProps {
  readonly label: string;
  readonly done: number;
  /** undefined: nobody knows yet. */
  readonly of: number | undefined;
}

/** A bar with a share in per cent. */
export function Progress({ label, done, of }: ProgressProps) {
  return (
    <progress
      className={styles['progress']}
      aria-label={label}
      {...(of !== undefined && { max: Math.max(of, 1), value: of === 0 ? 1 : done })}
    />
  );
}
