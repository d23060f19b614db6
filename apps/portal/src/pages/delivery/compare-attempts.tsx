import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useState } from 'react';
import type { Attempt } from '../../api/delivery-queries';
import { SelectField } from '../../components/field';
import { differencesOf } from './story';
import styles from './story.module.css';

/** Where two attempts differ, side by side. */
export function CompareAttempts({ attempts }: { readonly attempts: readonly Attempt[] }) {
  const [numbers, setNumbers] = useState<readonly [number?, number?]>([]);
  const [first, second] = [
    attempts.find(({ number }) => number === numbers[0]) ?? attempts.at(-2),
    attempts.find(({ number }) => number === numbers[1]) ?? attempts.at(-1),
  ];
  if (!first || !second) return null;
  const choices = attempts.map(({ number }) => <option key={number}>{number}</option>);
  const differences = differencesOf(first, second);
  return (
    <div className={styles['comparison']}>
      <div className={styles['choice']}>
        <SelectField
          label={t`First`}
          value={first.number}
          onChange={({ target }) => setNumbers([Number(target.value), second.number])}
        >
          {choices}
        </SelectField>
        <SelectField
          label={t`Second`}
          value={second.number}
          onChange={({ target }) => setNumbers([first.number, Number(target.value)])}
        >
          {choices}
        </SelectField>
      </div>
      {differences.length === 0 ? (
        <p>
          <Trans>Nothing that is recorded differs.</Trans>
        </p>
      ) : (
        <table className={styles['compare']} aria-label={t`Differences`}>
          <thead>
            <tr>
              <th scope="col">
                <Trans>Differs</Trans>
              </th>
              {[first, second].map(({ number }, index) => (
                <th key={index} scope="col">
                  <Trans>Attempt {number}</Trans>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {differences.map(({ name, values }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td dir="auto">{values[0]}</td>
                <td dir="auto">{values[1]}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}
