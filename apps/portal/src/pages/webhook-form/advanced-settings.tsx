import {
  camelCase,
  partsOf,
  type SettingName,
  type SettingPart,
  settingsBut,
} from '@hookferry/core/domain/endpoint-settings';
import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { type ReactNode, useState } from 'react';
import type { ValidationError } from '../../api/problem';
import { SelectField, TextField } from '../../components/field';
import { QuantityField, shownIn } from '../../components/quantity-field';
import { AUTH_CHOICES, hasSecret } from './auth-draft';
import { AuthField } from './auth-field';
import { type Draft, emptyDraft } from './draft';
import { faultAt } from './fault-at';
import { PairsField } from './pairs-field';
import { wordsOf } from './setting-words';
import styles from './webhook-form.module.css';

interface AdvancedSettingsProps {
  readonly draft: Draft;
  /** As the webhook is so far. */
  readonly initial: Draft;
  readonly validationErrors: readonly ValidationError[];
  readonly onChange: (part: Partial<Draft>) => void;
}

type Group = 'delivery' | 'signing' | 'format' | 'batches' | 'auth' | 'notes';

const GROUP_NAMES: Readonly<Record<Group, string>> = {
  delivery: t`Delivery`,
  signing: t`Signing`,
  format: t`Format`,
  batches: t`Batches`,
  auth: t`Sign-in at the receiver`,
  notes: t`Names and notes`,
};

/** TypeScript says when there is a new setting. */
const GROUPS: Readonly<Record<Exclude<SettingName, 'description'>, Group>> = {
  timeout_ms: 'delivery',
  retry_schedule: 'delivery',
  rate_limit: 'delivery',
  max_concurrency: 'delivery',
  ordering: 'delivery',
  coalesce: 'delivery',
  while_disabled: 'delivery',
  signing: 'signing',
  format: 'format',
  cloudevents: 'format',
  batch: 'batches',
  rate_limit_unit: 'batches',
  uid: 'notes',
};

const SETTINGS = settingsBut('description');

/** Settings that few webhooks need, in groups. Each is folded, says what is set in it, and opens if something is wrong. */
export function AdvancedSettings(props: AdvancedSettingsProps) {
  const { draft, initial, validationErrors, onChange } = props;
  return (
    <fieldset className={styles['groups']}>
      <legend>
        <Trans>Advanced settings</Trans>
      </legend>
      <SettingGroup {...props} name="delivery" />
      <SettingGroup {...props} name="signing" />
      <SettingGroup {...props} name="format" />
      <SettingGroup {...props} name="batches" />
      <SettingGroup
        {...props}
        name="auth"
        others={['auth', 'headers']}
        set={[...authSet(draft), ...headersSet(draft)]}
      >
        <AuthField
          auth={draft.auth}
          hasSecret={hasSecret(draft.auth, initial.auth)}
          validationErrors={validationErrors}
          onChange={(auth) => onChange({ auth })}
        />
        <PairsField
          legend={t`Headers`}
          hint={t`Sent with each request. Their values are never shown again: *** keeps the stored value.`}
          addLabel={t`Add a header`}
          removeLabel={(name) => t`Remove the header ${name}`}
          pairs={draft.headers}
          error={faultAt(validationErrors, '/headers')}
          onChange={(headers) => onChange({ headers })}
        />
      </SettingGroup>
      <SettingGroup {...props} name="notes" others={['metadata']} set={notesSet(draft)}>
        <PairsField
          legend={t`Metadata`}
          hint={t`Notes of your own.`}
          addLabel={t`Add a note`}
          removeLabel={(name) => t`Remove the note ${name}`}
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
        {GROUP_NAMES[name]} {summary !== '' && <span className={styles['set']}>{summary}</span>}
      </summary>
      <div className={styles['fields']}>
        {parts.map((part) => (
          <SettingField
            key={part.name}
            part={part}
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
function settingSet({ name }: SettingPart, draft: Draft): readonly string[] {
  const value = draft[camelCase(name)];
  const words = wordsOf(name);
  if (!words || value === emptyDraft[camelCase(name)]) return [];
  const { label, unit, options } = words;
  const shown = options?.[value] ?? (unit ? unit.shown(shownIn(unit, value)) : value);
  return [t`${label}: ${shown}`];
}

function authSet({ auth: { type } }: Draft): readonly string[] {
  return AUTH_CHOICES.filter(([choice]) => choice !== '' && choice === type).map(([, label]) => label);
}

function headersSet({ headers: { length } }: Draft): readonly string[] {
  return length === 0 ? [] : [plural(length, { one: '# header', other: '# headers' })];
}

function notesSet({ metadata: { length } }: Draft): readonly string[] {
  return length === 0 ? [] : [plural(length, { one: '# note', other: '# notes' })];
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
  readonly part: SettingPart;
  readonly value: string;
  readonly error: string | undefined;
  readonly onChange: (value: string) => void;
}

function SettingField({ part: { name, setting }, value, error, onChange }: SettingFieldProps) {
  const words = wordsOf(name);
  if (!words) return null;
  const { options, unit, label, hint } = words;
  const labels = { label, hint };
  if (options) {
    return (
      <SelectField {...labels} value={value} error={error} onChange={(event) => onChange(event.target.value)}>
        {value === '' && (
          <option value="">
            <Trans>As the account has it</Trans>
          </option>
        )}
        {Object.entries(options).map(([choice, word]) => (
          <option key={choice} value={choice}>
            {word}
          </option>
        ))}
      </SelectField>
    );
  }
  if (unit && setting.kind === 'number') {
    const isWithin = Number(value) >= setting.least && Number(value) <= setting.most;
    const [least, most] = [setting.least / unit.factor, setting.most / unit.factor];
    const unitName = unit.name;
    // The service's own words are about its own unit.
    const range = t`must be a number from ${least} to ${most} ${unitName}`;
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
      {...(setting.kind === 'number' && { inputMode: 'numeric' })}
      value={value}
      error={error}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
