import { Fragment, type ReactNode } from 'react';
import styles from './facts.module.css';

export interface FactsProps {
  /** Names and values; what is undefined or null is left out. */
  readonly facts: Readonly<Record<string, ReactNode>>;
}

export function Facts({ facts }: FactsProps) {
  return (
    <dl className={styles['facts']}>
      {Object.entries(facts).map(
        ([name, value]) =>
          value !== undefined &&
          value !== null && (
            <Fragment key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </Fragment>
          ),
      )}
    </dl>
  );
}
