import { useState } from 'react';
import type { Attempt } from '../../api/delivery-queries';
import { SelectField } from '../../components/field';
import { Section } from '../../components/section';
import { differencesOf } from './story';
import styles from './story.module.css';

/** Two attempts side by side; what differs is marked. */
export function CompareAttempts({ attempts }: { readonly attempts: readonly Attempt[] }) {
  const [numbers, setNumbers] = useState<readonly [number?, number?]>([]);
  const [first, second] = [
    attempts.find(({ number }) => number === numbers[0]) ?? attempts.at(-2),
    attempts.find(({ number }) => number === numbers[1]) ?? attempts.at(-1),
  ];
  if (!first || !second) return null;
  const choices = attempts.map(({ number }) => <option key={number}>{number}</option>);
  return (
    <Section
      title="Compare two attempts"
      actions={
        <>
          <SelectField
            label="First"
            value={first.number}
            onChange={({ target }) => setNumbers([Number(target.value), second.number])}
          >
            {choices}
          </SelectField>
          <SelectField
            label="Second"
            value={second.number}
            onChange={({ target }) => setNumbers([first.number, Number(target.value)])}
          >
            {choices}
          </SelectField>
        </>
      }
    >
      <table className={styles['compare']} aria-label="Differences">
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">Attempt {first.number}</th>
            <th scope="col">Attempt {second.number}</th>
          </tr>
        </thead>
        <tbody>
          {differencesOf(first, second).map(({ name, values, isSame }) => (
            <tr key={name} className={isSame ? styles['same'] : styles['differs']}>
              <th scope="row">
                {!isSame && <span aria-label="differs: ">≠ </span>}
                {name}
              </th>
              <td>{values[0]}</td>
              <td>{isSame ? 'the same' : values[1]}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}
