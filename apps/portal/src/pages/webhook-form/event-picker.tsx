import { type EventType, useEventTypes } from '../../api/event-type-queries';
import { Problem } from '../../components/problem';
import { Skeleton } from '../../components/skeleton';
import { TextWithCode } from '../../components/text-with-code';
import { EVERY_EVENT, type EventGroup, groupsOf, isWithin, withChoice } from './event-choice';
import styles from './webhook-form.module.css';

interface EventPickerProps {
  readonly filters: readonly string[];
  readonly error: string | undefined;
  readonly onChange: (filters: readonly string[]) => void;
}

/** The event types of a webhook: all, or a choice from the catalogue. */
export function EventPicker({ filters, error, onChange }: EventPickerProps) {
  const { data: types, error: problem, refetch } = useEventTypes();
  const isEvery = filters.includes(EVERY_EVENT);
  return (
    <fieldset className={styles['events']}>
      <legend>Events</legend>
      <label className={styles['choice']}>
        <input type="radio" name="events" checked={isEvery} onChange={() => onChange([EVERY_EVENT])} />
        Every event, also of types that are added later
      </label>
      <label className={styles['choice']}>
        <input type="radio" name="events" checked={!isEvery} onChange={() => onChange([])} />
        Chosen events
      </label>
      {problem && <Problem error={problem} onRetry={() => void refetch()} />}
      {!isEvery && !types && !problem && <Skeleton lines={6} />}
      {!isEvery &&
        types &&
        groupsOf(types).map((group) => (
          <Group key={group.filter ?? ''} group={group} filters={filters} onChange={onChange} />
        ))}
      {error && (
        <p role="alert" className={styles['error']}>
          {error}
        </p>
      )}
    </fieldset>
  );
}

interface GroupProps extends Omit<EventPickerProps, 'error'> {
  readonly group: EventGroup;
}

function Group({ group: { filter, types }, filters, onChange }: GroupProps) {
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
      <details className={styles['group']} open={types.some(({ name }) => filters.includes(name))}>
        <summary>Events about your webhooks</summary>
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
          <code>{filter}</code> all of them, also those that are added later
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
          {deprecated && ' (deprecated)'} <TextWithCode text={description} />
        </span>
      </label>
      <details className={styles['example']}>
        <summary>Example</summary>
        <pre>{JSON.stringify(example, null, 2)}</pre>
      </details>
    </div>
  );
}
