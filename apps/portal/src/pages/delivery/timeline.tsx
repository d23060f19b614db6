import { useState } from 'react';
import type { DeliveryWithAttempts } from '../../api/delivery-queries';
import { Section } from '../../components/section';
import { Time } from '../../components/time';
import { formatGap, type Step, stepsOf } from './story';
import styles from './story.module.css';

const SHAPES: Readonly<Record<Step['kind'], string>> = {
  accepted: '○',
  delivered: '●',
  failed: '✕',
  held: '▲',
  due: '◌',
};

/** What happened to it and what is to come, with gaps to scale. */
export function Timeline({ delivery }: { readonly delivery: DeliveryWithAttempts }) {
  const [now] = useState(() => new Date().getTime());
  const steps = stepsOf(delivery, now);
  const first = steps[0]?.at ?? 0;
  const end = Math.max(...steps.map(({ at, lengthMs }) => at + lengthMs), first + 1);
  const share = (ms: number) => `${(100 * ms) / (end - first)}%`;
  return (
    <Section title="Time line">
      <div className={styles['track']} aria-hidden="true">
        {steps.map((step, index) => (
          <span
            key={index}
            className={`${styles['mark']} ${styles[step.kind]}`}
            style={{ left: share(step.at - first), width: share(step.lengthMs) }}
          />
        ))}
      </div>
      <ol className={styles['steps']}>
        {steps.map((step, index) => {
          const former = steps[index - 1];
          return (
            <li key={index}>
              <span className={styles['gap']}>
                {former && `+ ${formatGap(step.at - former.at - former.lengthMs)}`}
              </span>
              <span aria-hidden="true" className={`${styles['shape']} ${styles[step.kind]}`}>
                {SHAPES[step.kind]}
              </span>
              <span>{step.text}</span>
              <span className={styles['soft']}>
                <Time at={new Date(step.at).toISOString()} form="short" />
              </span>
            </li>
          );
        })}
      </ol>
    </Section>
  );
}
