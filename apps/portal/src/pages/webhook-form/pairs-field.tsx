import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useRef } from 'react';
import { Button } from '../../components/button';
import { TextField } from '../../components/field';
import type { Pair } from './draft';
import styles from './webhook-form.module.css';

interface PairsFieldProps {
  readonly legend: string;
  readonly hint: string;
  readonly addLabel: string;
  /** @param name of the pair */
  readonly removeLabel: (name: string) => string;
  readonly pairs: readonly Pair[];
  readonly error: string | undefined;
  readonly onChange: (pairs: readonly Pair[]) => void;
}

/** Names with a value each, as many as are wanted. */
export function PairsField({ legend, hint, addLabel, removeLabel, pairs, error, onChange }: PairsFieldProps) {
  const nextKey = useRef(pairs.length);
  const change = (key: number, part: Partial<Pair>) =>
    onChange(pairs.map((pair) => (pair.key === key ? { ...pair, ...part } : pair)));
  const add = () => {
    onChange([...pairs, { key: nextKey.current, name: '', value: '' }]);
    nextKey.current += 1;
  };
  return (
    <fieldset className={styles['pairs']}>
      <legend>{legend}</legend>
      <p className={styles['hint']}>{hint}</p>
      {pairs.map(({ key, name, value }) => (
        <div key={key} className={styles['pair']}>
          <TextField
            label={t`Name`}
            value={name}
            onChange={(event) => change(key, { name: event.target.value })}
          />
          <TextField
            label={t`Value`}
            value={value}
            onChange={(event) => change(key, { value: event.target.value })}
          />
          <Button
            aria-label={removeLabel(name)}
            onClick={() => onChange(pairs.filter((pair) => pair.key !== key))}
          >
            <Trans>Remove</Trans>
          </Button>
        </div>
      ))}
      {error && (
        <p role="alert" className={styles['error']}>
          {error}
        </p>
      )}
      <div>
        <Button size="small" onClick={add}>
          {addLabel}
        </Button>
      </div>
    </fieldset>
  );
}
