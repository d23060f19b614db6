import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react';
import styles from './field.module.css';

interface Labels {
  readonly label: string;
  readonly hint?: ReactNode;
  /** The fault; screen readers read it with the field. */
  readonly error?: string | undefined;
}

/** What joins a control to its label, its hint and its fault. */
interface ControlProps {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': true | undefined;
}

interface FieldProps extends Labels {
  /** The control's own id, if it has one. */
  readonly id?: string | undefined;
  readonly children: (control: ControlProps) => ReactNode;
}

function Field({ label, hint, error, id, children }: FieldProps) {
  const made = useId();
  const control = id ?? made;
  const [hintId, errorId] = [`${control}-hint`, `${control}-error`];
  const described = [hint && hintId, error !== undefined && errorId].filter(Boolean).join(' ');
  return (
    <div className={styles['field']}>
      <label className={styles['label']} htmlFor={control}>
        {label}
      </label>
      {children({
        id: control,
        'aria-describedby': described === '' ? undefined : described,
        'aria-invalid': error === undefined ? undefined : true,
      })}
      {hint && (
        <p id={hintId} className={styles['hint']}>
          {hint}
        </p>
      )}
      {error !== undefined && (
        <div id={errorId} className={styles['error']}>
          {error}
        </div>
      )}
    </div>
  );
}

export type TextFieldProps = Labels & Omit<InputHTMLAttributes<HTMLInputElement>, 'defaultValue'>;

export function TextField({ label, hint, error, ...input }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} id={input.id}>
      {(control) => <input className={styles['control']} {...input} {...control} />}
    </Field>
  );
}

export type TextAreaFieldProps = Labels & Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'defaultValue'>;

export function TextAreaField({ label, hint, error, ...area }: TextAreaFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} id={area.id}>
      {(control) => <textarea className={`${styles['control']} ${styles['area']}`} {...area} {...control} />}
    </Field>
  );
}

export type SelectFieldProps = Labels & Omit<SelectHTMLAttributes<HTMLSelectElement>, 'defaultValue'>;

/** `children` are its `<option>` elements. */
export function SelectField({ label, hint, error, children, ...select }: SelectFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} id={select.id}>
      {(control) => (
        <select className={styles['control']} {...select} {...control}>
          {children}
        </select>
      )}
    </Field>
  );
}
