import { Field as BaseField } from '@base-ui/react/field';
import type { InputHTMLAttributes, ReactNode, SelectHTMLAttributes, TextareaHTMLAttributes } from 'react';
import styles from './field.module.css';

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  /** The fault; screen readers read it with the field. */
  readonly error?: string | undefined;
  readonly children: ReactNode;
}

function Field({ label, hint, error, children }: FieldProps) {
  return (
    <BaseField.Root className={styles['field']} invalid={error !== undefined}>
      <BaseField.Label className={styles['label']}>{label}</BaseField.Label>
      {children}
      {hint && <BaseField.Description className={styles['hint']}>{hint}</BaseField.Description>}
      {error !== undefined && (
        <BaseField.Error match className={styles['error']}>
          {error}
        </BaseField.Error>
      )}
    </BaseField.Root>
  );
}

type Labels = Omit<FieldProps, 'children'>;

export type TextFieldProps = Labels & Omit<InputHTMLAttributes<HTMLInputElement>, 'defaultValue'>;

export function TextField({ label, hint, error, ...input }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      <BaseField.Control className={styles['control']} {...input} />
    </Field>
  );
}

export type TextAreaFieldProps = Labels & Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'defaultValue'>;

export function TextAreaField({ label, hint, error, ...area }: TextAreaFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      <BaseField.Control
        render={<textarea className={`${styles['control']} ${styles['area']}`} {...area} />}
      />
    </Field>
  );
}

export type SelectFieldProps = Labels & Omit<SelectHTMLAttributes<HTMLSelectElement>, 'defaultValue'>;

/** `children` are its `<option>` elements. */
export function SelectField({ label, hint, error, children, ...select }: SelectFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      <BaseField.Control
        render={
          <select className={styles['control']} {...select}>
            {children}
          </select>
        }
      />
    </Field>
  );
}
