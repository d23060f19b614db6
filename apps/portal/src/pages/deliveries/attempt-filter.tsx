import { useEffect } from 'react';
import { type DeliveryFilters, isOfAttempts, useDeliveries } from '../../api/delivery-queries';
import { Button } from '../../components/button';
import styles from './attempt-filter.module.css';
import { FAILED, type FilterTexts } from './filters-in-url';
import { outcomes } from './words';

// Of 200 deliveries each. What takes longer to count is read on by the viewer.
const MOST_PAGES = 12;

interface AttemptFilterProps {
  readonly texts: FilterTexts;
  readonly filters: DeliveryFilters;
  readonly onChange: (texts: FilterTexts) => void;
}

/** Where a figure of a chart has led: which attempts it has counted, each part with a button to clear it, and how many are found. */
export function AttemptFilter({ texts, filters, onChange }: AttemptFilterProps) {
  const { attempted_since: since, attempted_until: until, attempt_outcome: ways } = filters;
  if (!isOfAttempts(filters)) return null;
  return (
    <section className={styles['filter']} aria-label="Attempts looked for">
      {(since !== undefined || until !== undefined) && (
        <Chip
          label={`Attempted ${rangeText(since, until)}`}
          onClear={() => onChange({ ...texts, attempted_since: '', attempted_until: '' })}
        />
      )}
      {ways !== undefined && (
        <Chip
          label={`Attempt: ${ways.split(',').map(nameOfWay).join(', ')}`}
          onClear={() => onChange({ ...texts, attempt: '' })}
        />
      )}
      <AttemptCount filters={filters} />
    </section>
  );
}

function Chip({ label, onClear }: { readonly label: string; readonly onClear: () => void }) {
  return (
    <span className={styles['chip']}>
      {label}
      <Button size="small" kind="quiet" aria-label={`Clear: ${label}`} onClick={onClear}>
        ✕
      </Button>
    </span>
  );
}

/** Reads the list on until it has all, within bounds. */
function AttemptCount({ filters }: { readonly filters: DeliveryFilters }) {
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useDeliveries(filters);
  const pages = data?.pages ?? [];
  const goesOn = hasNextPage && !error && pages.length < MOST_PAGES;
  useEffect(() => {
    if (goesOn && !isFetchingNextPage) void fetchNextPage();
  }, [goesOn, isFetchingNextPage, fetchNextPage]);
  const rows = pages.flatMap((page) => page.data);
  const attempts = rows.reduce((sum, row) => sum + (row.matching_attempts ?? 0), 0);
  if (!data) return <output className={styles['count']}>Counting…</output>;
  return (
    <output className={styles['count']} aria-busy={goesOn}>
      {hasNextPage ? 'So far ' : ''}
      {`${countOf(attempts, 'attempt')} of ${rows.length === 1 ? '1 delivery' : `${count.format(rows.length)} deliveries`}`}
      {goesOn && ', and it goes on'}
    </output>
  );
}

const count = new Intl.NumberFormat();
const countOf = (number: number, noun: string) =>
  number === 1 ? `1 ${noun}` : `${count.format(number)} ${noun}s`;

const nameOfWay = (way: string) =>
  way === FAILED ? 'Failed' : (outcomes[way as keyof typeof outcomes] ?? way);

const times = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

function rangeText(since: string | undefined, until: string | undefined): string {
  const [from, to] = [since, until].map((time) => (time === undefined ? undefined : new Date(time)));
  if (from && to) return times.formatRange(from, to);
  return from ? `since ${times.format(from)}` : `before ${times.format(to)}`;
}
