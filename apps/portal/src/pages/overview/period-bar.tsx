import { t } from '@lingui/core/macro';
import { type FocusEvent, useState } from 'react';
import type { DeliveryMetrics } from '../../api/metrics-queries';
import { Button } from '../../components/button';
import { TextField } from '../../components/field';
import { fromLocalInput, toLocalInput } from '../replay/range';
import styles from './overview.module.css';
import { type Period, SPANS, timesOf } from './period';

// A year that is still being typed begins with noughts.
const EARLIEST = Date.UTC(2000, 0);

const RECENT = t`These charts reach back 24 hours. With a history in PostgreSQL they reach back weeks and months.`;
const HINT = t`Drag across a chart to zoom in, click on it to see the deliveries.`;

type Edge = 'since' | 'until';

interface PeriodBarProps {
  readonly period: Period;
  readonly now: number;
  /** Where the counts come from; undefined: it is not known yet. */
  readonly source: DeliveryMetrics['source'] | undefined;
  readonly onChange: (changed: Readonly<Record<string, string | undefined>>) => void;
}

/** Chooses what is looked at. What is typed stays as it was typed, and counts as soon as it is a range. */
export function PeriodBar({ period: { span, since, until }, now, source, onChange }: PeriodBarProps) {
  const [typed, setTyped] = useState<Readonly<Partial<Record<Edge, string>>>>({});
  const shown = { since, until: until ?? now };
  const rangeOf = (texts: typeof typed) => ({
    since: timeOf(texts.since, shown.since),
    until: timeOf(texts.until, shown.until),
  });
  const isRange = ({ since: from, until: to }: typeof shown) => from >= EARLIEST && from < to && from < now;
  const inputOf = (edge: Edge) => ({
    type: 'datetime-local',
    value: typed[edge] ?? toLocalInput(new Date(shown[edge])),
    onChange: ({ target }: { readonly target: { readonly value: string } }) => {
      const texts = { ...typed, [edge]: target.value };
      setTyped(texts);
      const range = rangeOf(texts);
      if (isRange(range)) onChange({ ...timesOf(range), range: undefined });
    },
    onBlur: ({ relatedTarget }: FocusEvent) => {
      // Both may have to be typed before they are a range.
      if (!relatedTarget?.matches('[type=datetime-local]')) setTyped({});
    },
  });
  const isWrong = Object.keys(typed).length > 0 && !isRange(rangeOf(typed));
  return (
    <>
      <div className={styles['bar']}>
        <fieldset className={styles['spans']} aria-label={t`How far back`}>
          {SPANS.map(([name, label]) => (
            <Button
              key={name}
              aria-pressed={span === name}
              onClick={() => onChange({ range: name, since: undefined, until: undefined })}
            >
              {label}
            </Button>
          ))}
        </fieldset>
        <TextField label={t({ message: 'From', context: 'time' })} {...inputOf('since')} />
        <TextField
          label={t({ message: 'To', context: 'time' })}
          {...inputOf('until')}
          error={isWrong ? t`This is no range: it has to end after it begins.` : undefined}
        />
      </div>
      {/* There in any case: nothing may move when it is known which. */}
      <p className={`${styles['note']} ${styles['hint']}`}>
        {HINT}
        {source === 'recent' && <span> {RECENT}</span>}
      </p>
    </>
  );
}

function timeOf(text: string | undefined, otherwise: number): number {
  return text === undefined ? otherwise : Date.parse(fromLocalInput(text) ?? '');
}
