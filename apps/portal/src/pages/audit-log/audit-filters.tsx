import { t } from '@lingui/core/macro';
import { type FormEvent, useState } from 'react';
import { Button } from '../../components/button';
import { SelectField, TextField } from '../../components/field';
import { Filters } from '../../components/filters';
import { fromLocalInput, toLocalInput } from '../replay/range';
import styles from './audit-log.module.css';
import { ACTIONS, actionText } from './audit-texts';

const NAMES = ['actor', 'action', 'target', 'since', 'until', 'accounts'] as const;
type Name = (typeof NAMES)[number];

/** As they stand in the address of the page. '' is any. */
export type AuditFilterTexts = Readonly<Record<Name, string>>;

export function readFilters(search: URLSearchParams): AuditFilterTexts {
  return Object.fromEntries(NAMES.map((name) => [name, search.get(name) ?? ''])) as Record<Name, string>;
}

/** Only what is set: an address that somebody passes on is to be short. */
export function writeFilters(texts: AuditFilterTexts): URLSearchParams {
  return new URLSearchParams(NAMES.filter((name) => texts[name] !== '').map((name) => [name, texts[name]]));
}

interface AuditFiltersProps {
  readonly texts: AuditFilterTexts;
  readonly isOperator: boolean;
  readonly onChange: (texts: AuditFilterTexts) => void;
}

/** Ids are looked for when they are sent: half an id is none. */
export function AuditFilters({ texts, isOperator, onChange }: AuditFiltersProps) {
  const [known, setKnown] = useState(texts);
  const [draft, setDraft] = useState({ actor: texts.actor, target: texts.target });
  // The filters were cleared, or a link led to others.
  if (texts.actor !== known.actor || texts.target !== known.target) {
    setKnown(texts);
    setDraft({ actor: texts.actor, target: texts.target });
  }
  const set = (name: Name, value = '') => onChange({ ...texts, ...draft, [name]: value });
  const apply = (event: FormEvent) => {
    event.preventDefault();
    onChange({ ...texts, actor: draft.actor.trim(), target: draft.target.trim() });
  };
  const bindText = (name: 'actor' | 'target') => ({
    value: draft[name],
    maxLength: 200,
    autoComplete: 'off',
    spellCheck: false,
    onChange: ({ target }: { readonly target: HTMLInputElement }) =>
      setDraft({ ...draft, [name]: target.value }),
  });
  const bindTime = (name: 'since' | 'until') => ({
    type: 'datetime-local',
    value: Number.isNaN(Date.parse(texts[name])) ? '' : toLocalInput(new Date(texts[name])),
    onChange: ({ target }: { readonly target: HTMLInputElement }) => set(name, fromLocalInput(target.value)),
  });
  return (
    <Filters count={NAMES.filter((name) => texts[name] !== '').length}>
      <form className={styles['filters']} aria-label={t`Filters`} onSubmit={apply}>
        <SelectField
          label={t`Action`}
          value={texts.action}
          onChange={({ target }) => set('action', target.value)}
        >
          <option value="">{t`Any`}</option>
          {texts.action !== '' && !Object.hasOwn(ACTIONS, texts.action) && (
            <option value={texts.action}>{actionText(texts.action)}</option>
          )}
          {Object.entries(ACTIONS).map(([action, text]) => (
            <option key={action} value={action}>
              {text}
            </option>
          ))}
        </SelectField>
        <TextField label={t({ message: 'From', context: 'time' })} {...bindTime('since')} />
        <TextField label={t({ message: 'Until', context: 'time' })} {...bindTime('until')} />
        {isOperator && (
          <SelectField
            label={t`Accounts`}
            value={texts.accounts}
            onChange={({ target }) => set('accounts', target.value)}
          >
            <option value="">{t`The one in view`}</option>
            <option value="all">{t({ message: 'All', context: 'accounts' })}</option>
          </SelectField>
        )}
        <TextField label={t`Actor`} placeholder={t`Id of a key or a session`} {...bindText('actor')} />
        <TextField label={t`Target`} placeholder={t`Id of the object`} {...bindText('target')} />
        <div className={styles['apply']}>
          <Button type="submit">{t`Apply`}</Button>
          <Button
            kind="quiet"
            disabled={NAMES.every((name) => texts[name] === '')}
            onClick={() => onChange(readFilters(new URLSearchParams()))}
          >
            {t`Clear filters`}
          </Button>
        </div>
      </form>
    </Filters>
  );
}
