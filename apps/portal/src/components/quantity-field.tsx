import { t } from '@lingui/core/macro';
import { useState } from 'react';
import { TextField, type TextFieldProps } from './field';

/** How people write a quantity that the API has in a smaller unit. */
export interface Unit {
  readonly name: string;
  /** How many of the API's units it is. */
  readonly factor: number;
}

export const MIBIBYTES: Unit = { name: t`MiB`, factor: 1_048_576 };

interface QuantityFieldProps extends Omit<TextFieldProps, 'value' | 'onChange' | 'type'> {
  readonly unit: Unit;
  /** In the API's unit, as a text; '' is none. A text that is no number stays as it was typed. */
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A number with its unit in the label, such as seconds for a member that has milliseconds. */
export function QuantityField({ unit, label, value, onChange, ...field }: QuantityFieldProps) {
  const { name } = unit;
  const [typed, setTyped] = useState(() => shownIn(unit, value));
  // `1.` and `1` are the same number: what is typed stays as long as it means the value.
  const shown = storedOf(unit, typed) === value ? typed : shownIn(unit, value);
  return (
    <TextField
      {...field}
      label={t`${label}, ${name}`}
      inputMode="decimal"
      pattern="[0-9]*[.,]?[0-9]*"
      value={shown}
      onChange={({ target }) => {
        setTyped(target.value);
        onChange(storedOf(unit, target.value));
      }}
    />
  );
}

/** As a form shows it: `1500` milliseconds are `1.5` seconds. */
export function shownIn({ factor }: Unit, stored: string): string {
  const value = Number(stored);
  return stored.trim() === '' || Number.isNaN(value) ? stored : String(value / factor);
}

/** As the API takes it. People also write a comma. */
export function storedOf({ factor }: Unit, typed: string): string {
  const value = Number(typed.replace(',', '.'));
  return typed.trim() === '' || Number.isNaN(value) ? typed.trim() : String(Math.round(value * factor));
}
