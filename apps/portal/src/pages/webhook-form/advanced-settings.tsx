import {
  camelCase,
  partsOf,
  type SettingName,
  type SettingPart,
  settingsBut,
} from '@hookferry/core/domain/endpoint-settings';
import { type ReactNode, useState } from 'react';
import type { ValidationError } from '../../api/problem';
import { SelectField, TextField } from '../../components/field';
import { QuantityField, shownIn } from '../../components/quantity-field';
import { AUTH_CHOICES, hasSecret } from './auth-draft';
import { AuthField } from './auth-field';
import { type Draft, emptyDraft } from './draft';
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

type Group = 'Delivery' | 'Signing' | 'Format' | 'Batches' | 'Sign-in at the receiver' | 'Names and notes';

/** TypeScript says when there is a new setting. */
const GROUPS: Readonly<Record<Exclude<SettingName, 'description'>, Group>> = {
  timeout_ms: 'Delivery',
  retry_schedule: 'Delivery',
  rate_limit: 'Delivery',
  max_concurrency: 'Delivery',
  ordering: 'Delivery',
  coalesce: 'Delivery',
  while_disabled: 'Delivery',
  signing: 'Signing',
  format: 'Format',
  cloudevents: 'Format',
  batch: 'Batches',
  rate_limit_unit: 'Batches',
  uid: 'Names and notes',
};

const SETTINGS = settingsBut('description');

/** Settings that few webhooks need, in groups. Each is folded, says what is set in it, and opens if something is wrong. */
export function AdvancedSettings(props: AdvancedSettingsProps) {
  const { draft, initial, validationErrors, onChange } = props;
  return (
    <fieldset className={styles['groups']}>
      <legend>Advanced settings</legend>
      <SettingGroup {...props} name="Delivery" />
      <SettingGroup {...props} name="Signing" />
      <SettingGroup {...props} name="Format" />
      <SettingGroup {...props} name="Batches" />
      <SettingGroup
        {...props}
        name="Sign-in at the receiver"
        others={['auth', 'headers']}
        set={[...authSet(draft), ...countSet(draft.headers.length, 'header')]}
      >
        <AuthField
          auth={draft.auth}
          hasSecret={hasSecret(draft.auth, initial.auth)}
          validationErrors={validationErrors}
          onChange={(auth) => onChange({ auth })}
        />
        <PairsField
          legend="Headers"
          hint="Sent with each request. Their values are never shown again: *** keeps the stored value."
          one="header"
          pairs={draft.headers}
          error={faultAt(validationErrors, '/headers')}
          onChange={(headers) => onChange({ headers })}
        />
      </SettingGroup>
      <SettingGroup
        {...props}
        name="Names and notes"
        others={['metadata']}
        set={countSet(draft.metadata.length, 'note')}
      >
        <PairsField
          legend="Metadata"
          hint="Notes of your own."
          one="note"
          pairs={draft.metadata}
          error={faultAt(validationErrors, '/metadata')}
          onChange={(metadata) => onChange({ metadata })}
        />
      </SettingGroup>
    </fieldset>
  );
}

interface SettingGroupProps extends Omit<AdvancedSettingsProps, 'initial'> {
  readonly name: Group;
  /** Members that have a field of their own among the children. */
  readonly others?: readonly string[];
  /** Which of these are set, in words. */
  readonly set?: readonly string[];
  readonly children?: ReactNode;
}

function SettingGroup({
  name,
  draft,
  validationErrors,
  onChange,
  others = [],
  set = [],
  children,
}: SettingGroupProps) {
  const settings = SETTINGS.filter((setting) => GROUPS[setting] === name);
  const parts = partsOf(settings);
  const isWrong = [...settings, ...others].some(
    (member) => faultAt(validationErrors, `/${member}`) !== undefined,
  );
  // Correcting the fault that opened it must not fold it.
  const [isOpen, setIsOpen] = useState(false);
  const summary = [...parts.flatMap((part) => settingSet(part, draft)), ...set].join(' · ');
  return (
    <details
      className={styles['advanced']}
      open={isOpen || isWrong}
      onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}
    >
      <summary>
        {name} {summary !== '' && <span className={styles['set']}>{summary}</span>}
      </summary>
      <div className={styles['fields']}>
        {parts.map((part) => (
          <SettingField
            key={part.name}
            setting={part.setting}
            value={draft[camelCase(part.name)]}
            error={faultOfPart(validationErrors, part.path)}
            onChange={(value) => onChange({ [camelCase(part.name)]: value })}
          />
        ))}
        {children}
      </div>
    </details>
  );
}

/** "Time-out: 30 seconds"; nothing for a setting that is as usual. */
function settingSet({ name, setting: { field } }: SettingPart, draft: Draft): readonly string[] {
  const value = draft[camelCase(name)];
  if (!field || value === emptyDraft[camelCase(name)]) return [];
  const { unit } = field;
  const shown = field.options?.[value] ?? (unit ? `${shownIn(unit, value)} ${unit.name}` : value);
  return [`${field.label}: ${shown}`];
}

function authSet({ auth: { type } }: Draft): readonly string[] {
  return AUTH_CHOICES.filter(([choice]) => choice !== '' && choice === type).map(([, label]) => label);
}

function countSet(count: number, one: string): readonly string[] {
  if (count === 0) return [];
  return [count === 1 ? `1 ${one}` : `${count} ${one}s`];
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

function SettingField({ setting, value, error, onChange }: SettingFieldProps) {
  const { kind, field } = setting;
  if (!field) return null;
  const { options, unit, ...labels } = field;
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
  if (unit && kind === 'number') {
    const { least, most } = setting;
    const isWithin = Number(value) >= least && Number(value) <= most;
    // The service's own words are about its own unit.
    const range = `must be a number from ${least / unit.factor} to ${most / unit.factor} ${unit.name}`;
    return (
      <QuantityField
        {...labels}
        unit={unit}
        value={value}
        error={error === undefined || isWithin ? error : range}
        onChange={onChange}
      />
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
