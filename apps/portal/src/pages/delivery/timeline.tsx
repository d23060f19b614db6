import { t } from '@lingui/core/macro';
import { useState } from 'react';
import type { DeliveryWithAttempts } from '../../api/delivery-queries';
import { Section } from '../../components/section';
import { Time } from '../../components/time';
import { formatMs } from '../../language/formats';
import { type Range, rangeOf, type Step, stepsOf } from './story';
import styles from './story.module.css';

const SHAPES: Readonly<Record<Step['kind'], string>> = {
  accepted: '○',
  delivered: '●',
  failed: '✕',
  held: '▲',
  due: '◌',
};

/** The steps of a delivery, past and future, with gaps to scale: each from the beginning of the step before. */
export function Timeline({ delivery }: { readonly delivery: DeliveryWithAttempts }) {
  const [now] = useState(() => new Date().getTime());
  const steps = stepsOf(delivery, now);
  return (
    <Section title={t`Time line`}>
      <Track steps={steps} range={rangeOf(steps)} />
      <ol className={styles['steps']}>
        {steps.map((step, index) => {
          const former = steps[index - 1];
          return (
            <li key={index}>
              <span className={styles['gap']}>{former && `+ ${formatMs(step.at - former.at)}`}</span>
              <span aria-hidden="true" className={`${styles['shape']} ${styles[step.kind]}`}>
                {SHAPES[step.kind]}
              </span>
              <span className={styles['soft']}>
                <Time at={new Date(step.at).toISOString()} form="short" />
              </span>
              <span>{step.text}</span>
            </li>
          );
        })}
      </ol>
    </Section>
  );
}

interface TrackProps {
  readonly steps: readonly Step[];
  readonly range: Range;
}

/** A mark for each step, as long as it took, with gaps to scale. What they are is said beside it. */
export function Track({ steps, range: { from, to } }: TrackProps) {
  const share = (ms: number) => `${(100 * ms) / (to - from)}%`;
  return (
    <div className={styles['track']} aria-hidden="true">
      {steps.map((step, index) => (
        <span
          key={index}
          className={`${styles['mark']} ${styles[step.kind]}`}
          style={{ insetInlineStart: share(step.at - from), width: share(step.lengthMs) }}
        />
      ))}
    </div>
  );
}
