import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useState } from 'react';
import type { EventType } from '../../api/event-type-queries';
import { TextField } from '../../components/field';
import { Problem } from '../../components/problem';
import { Skeleton } from '../../components/skeleton';
import { TextWithCode } from '../../components/text-with-code';
import { useOfferedTypes } from '../event-types/offered-types';
import { EVERY_EVENT, type EventGroup, groupsOf, isWithin, withChoice } from './event-choice';
import styles from './webhook-form.module.css';

interface EventPickerProps {
  readonly filters: readonly string[];
  readonly error: string | undefined;
  readonly onChange: (filters: readonly string[]) => void;
}

/** The event types of a webhook: all, or a choice from the catalogue. */
export function EventPicker({ filters, error, onChange }: EventPickerProps) {
  const { data: types, error: problem, refetch } = useOfferedTypes(filters);
  const [search, setSearch] = useState('');
  const isEvery = filters.includes(EVERY_EVENT);
  const found = types && matching(types, search);
  return (
    <fieldset className={styles['events']}>
      <legend>
        <Trans>Events</Trans>
      </legend>
      <label className={styles['choice']}>
        <input type="radio" name="events" checked={isEvery} onChange={() => onChange([EVERY_EVENT])} />
        <Trans>Every event, also of types that are added later</Trans>
      </label>
      <label className={styles['choice']}>
        <input type="radio" name="events" checked={!isEvery} onChange={() => onChange([])} />
        <Trans>Chosen events</Trans>
      </label>
      {problem && <Problem error={problem} onRetry={() => void refetch()} />}
      {!isEvery && !types && !problem && <Skeleton lines={6} />}
      {!isEvery && types && types.length > FEW && (
        <TextField
          label={t`Search types`}
          type="search"
          autoComplete="off"
          value={search}
          onChange={({ target }) => setSearch(target.value)}
        />
      )}
      {!isEvery &&
        found &&
        groupsOf(found).map((group) => (
          <Group
            key={group.filter ?? ''}
            group={group}
            filters={filters}
            search={search}
            onChange={onChange}
          />
        ))}
      {!isEvery && found && (
        <p aria-live="polite" className={styles['hint']}>
          {found.length === 0 && t`No type has this in its name or description.`}
        </p>
      )}
      {error && (
        <p role="alert" className={styles['error']}>
          {error}
        </p>
      )}
    </fieldset>
  );
}

// They are all in view.
const FEW = 6;

/** Types with a text in their name or description. What was chosen stays chosen, in view or not. */
function matching(types: readonly EventType[], search: string): readonly EventType[] {
  const wanted = search.trim().toLowerCase();
  return types.filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(wanted));
}

interface GroupProps extends Omit<EventPickerProps, 'error'> {
  readonly group: EventGroup;
  readonly search: string;
}

function Group({ group: { filter, types }, filters, search, onChange }: GroupProps) {
  const isWhole = filter !== undefined && filters.includes(filter);
  const choices = types.map((type) => (
    <Choice
      key={type.name}
      type={type}
      isChosen={filters.includes(type.name) || (isWhole && isWithin(type.name, filter))}
      isImplied={isWhole}
      onChange={(isChosen) => onChange(withChoice(filters, type.name, isChosen))}
    />
  ));
  if (filter === undefined) {
    // Most people want the events of the product, and not those about webhooks.
    return (
      <details
        className={styles['group']}
        open={search !== '' || types.some(({ name }) => filters.includes(name))}
      >
        <summary>
          <Trans>Events about your webhooks</Trans>
        </summary>
        {choices}
      </details>
    );
  }
  return (
    <div className={styles['group']}>
      <label className={styles['choice']}>
        <input
          type="checkbox"
          checked={isWhole}
          onChange={({ target }) => onChange(withChoice(filters, filter, target.checked))}
        />
        <span>
          <code>{filter}</code> {t`all of them, also those that are added later`}
        </span>
      </label>
      {choices}
    </div>
  );
}

interface ChoiceProps {
  readonly type: EventType;
  readonly isChosen: boolean;
  /** By its group. */
  readonly isImplied: boolean;
  readonly onChange: (isChosen: boolean) => void;
}

function Choice({
  type: { name, description, example, deprecated },
  isChosen,
  isImplied,
  onChange,
}: ChoiceProps) {
  return (
    <div className={styles['type']}>
      <label className={styles['choice']}>
        <input
          type="checkbox"
          checked={isChosen}
          disabled={isImplied}
          onChange={({ target }) => onChange(target.checked)}
        />
        <span>
          <code>{name}</code>
          {deprecated && ` ${t`(deprecated)`}`} {/* In the operator's language. */}
          <bdi>
            <TextWithCode text={description} />
          </bdi>
        </span>
      </label>
      <details className={styles['example']}>
        <summary>
          <Trans>Example</Trans>
        </summary>
        <pre>{JSON.stringify(example, null, 2)}</pre>
      </details>
    </div>
  );
}
