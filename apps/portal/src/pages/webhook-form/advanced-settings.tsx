import { camelCase, partsOf, type SettingPart, settingsBut } from '@hookferry/core/domain/endpoint-settings';
import { useState } from 'react';
import type { ValidationError } from '../../api/problem';
import { SelectField, TextField } from '../../components/field';
import { hasSecret } from './auth-draft';
import { AuthField } from './auth-field';
import type { Draft } from './draft';
import { faultAt } from './fault-at';
import { PairsField } from './pairs-field';
import styles from './webhook-form.module.css';

interface AdvancedSettingsProps {
  readonly draft: Draft;
  /** As the webhook is so far. */
  readonly initial: Draft;
  readonly validationErrors: readonly ValidationError[];
  readonly onChange: (part: Partial<Draft>) => void;
}

const SETTINGS = [...settingsBut('description', 'uid'), 'uid'] as const;
const MEMBERS = [...SETTINGS, 'headers', 'metadata', 'auth'];

/** Settings that few webhooks need. Folded, unless one of them is wrong. */
export function AdvancedSettings({ draft, initial, validationErrors, onChange }: AdvancedSettingsProps) {
  const isWrong = MEMBERS.some((member) => faultAt(validationErrors, `/${member}`) !== undefined);
  // Correcting the fault that opened it must not fold it.
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details
      className={styles['advanced']}
      open={isOpen || isWrong}
      onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}
    >
      <summary>Advanced settings</summary>
      <div className={styles['fields']}>
        {partsOf(SETTINGS).map((part) => (
          <SettingField
            key={part.name}
            setting={part.setting}
            value={draft[camelCase(part.name)]}
            error={faultOfPart(validationErrors, part.path)}
            onChange={(value) => onChange({ [camelCase(part.name)]: value })}
          />
        ))}
        <PairsField
          legend="Headers"
          hint="Sent with each request. Their values are never shown again: *** keeps the stored value."
          one="header"
          pairs={draft.headers}
          error={faultAt(validationErrors, '/headers')}
          onChange={(headers) => onChange({ headers })}
        />
        <AuthField
          auth={draft.auth}
          hasSecret={hasSecret(draft.auth, initial.auth)}
          validationErrors={validationErrors}
          onChange={(auth) => onChange({ auth })}
        />
        <PairsField
          legend="Metadata"
          hint="Notes of your own."
          one="note"
          pairs={draft.metadata}
          error={faultAt(validationErrors, '/metadata')}
          onChange={(metadata) => onChange({ metadata })}
        />
      </div>
    </details>
  );
}

/** The fault of a setting, or of its group. */
function faultOfPart(
  validationErrors: readonly ValidationError[],
  path: SettingPart['path'],
): string | undefined {
  const ofGroup = validationErrors.filter(({ pointer }) => pointer === `/${path[0]}`);
  return faultAt(validationErrors, `/${path.join('/')}`) ?? faultAt(ofGroup, `/${path[0]}`);
}

interface SettingFieldProps {
  readonly setting: SettingPart['setting'];
  readonly value: string;
  readonly error: string | undefined;
  readonly onChange: (value: string) => void;
}

function SettingField({ setting: { kind, field }, value, error, onChange }: SettingFieldProps) {
  if (!field) return null;
  const { options, ...labels } = field;
  if (options) {
    return (
      <SelectField {...labels} value={value} error={error} onChange={(event) => onChange(event.target.value)}>
        {value === '' && <option value="">As the account has it</option>}
        {Object.entries(options).map(([choice, label]) => (
          <option key={choice} value={choice}>
            {label}
          </option>
        ))}
      </SelectField>
    );
  }
  return (
    <TextField
      {...labels}
      {...(kind === 'number' && { inputMode: 'numeric' })}
      value={value}
      error={error}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
