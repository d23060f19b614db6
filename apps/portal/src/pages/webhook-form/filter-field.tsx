import { t } from '@lingui/core/macro';
import { TextAreaField } from '../../components/field';
import { isolated } from '../../language/formats';
import { TryFilter } from './try-filter';

const EXAMPLE = isolated('{"position": {"lte": 10}}');

interface FilterFieldProps {
  readonly filter: string;
  /** The event types that the filter is for. */
  readonly events: readonly string[];
  readonly error: string | undefined;
  readonly onChange: (filter: string) => void;
}

/** A condition on the data of events, and a place to see what it lets through. */
export function FilterField({ filter, events, error, onChange }: FilterFieldProps) {
  return (
    <>
      <TextAreaField
        label={t`Filter`}
        hint={t`Only events whose data match this filter are sent, such as ${EXAMPLE}. Empty: all of them.`}
        value={filter}
        error={error}
        rows={4}
        spellCheck={false}
        onChange={(event) => onChange(event.target.value)}
      />
      {filter.trim() !== '' && error === undefined && <TryFilter filter={filter} events={events} />}
    </>
  );
}
