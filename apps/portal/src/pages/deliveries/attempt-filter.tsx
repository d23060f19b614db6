import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useEffect } from 'react';
import { type DeliveryFilters, isOfAttempts, useDeliveries } from '../../api/delivery-queries';
import { Button } from '../../components/button';
import { formatTimeRange, formatTimeToMinute } from '../../language/formats';
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
    <section className={styles['filter']} aria-label={t`Attempts looked for`}>
      {(since !== undefined || until !== undefined) && (
        <Chip
          label={rangeText(since, until)}
          onClear={() => onChange({ ...texts, attempted_since: '', attempted_until: '' })}
        />
      )}
      {ways !== undefined && (
        <Chip label={waysText(ways)} onClear={() => onChange({ ...texts, attempt: '' })} />
      )}
      <AttemptCount filters={filters} />
    </section>
  );
}

function Chip({ label, onClear }: { readonly label: string; readonly onClear: () => void }) {
  return (
    <span className={styles['chip']}>
      {label}
      <Button size="small" kind="quiet" aria-label={t`Clear: ${label}`} onClick={onClear}>
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
  if (!data)
    return (
      <output className={styles['count']}>
        <Trans>Counting…</Trans>
      </output>
    );
  return (
    <output className={styles['count']} aria-busy={goesOn}>
      {countText(attempts, rows.length, !hasNextPage ? 'all' : goesOn ? 'counting' : 'some')}
    </output>
  );
}

function countText(attempts: number, deliveries: number, found: 'all' | 'some' | 'counting'): string {
  if (found === 'all') {
    return t`${plural(attempts, { one: '# attempt', other: '# attempts' })} of ${plural(deliveries, { one: '# delivery', other: '# deliveries' })}`;
  }
  if (found === 'some') {
    return t`So far ${plural(attempts, { one: '# attempt', other: '# attempts' })} of ${plural(deliveries, { one: '# delivery', other: '# deliveries' })}`;
  }
  return t`So far ${plural(attempts, { one: '# attempt', other: '# attempts' })} of ${plural(deliveries, { one: '# delivery', other: '# deliveries' })}, and it goes on`;
}

function waysText(ways: string): string {
  const names = ways
    .split(',')
    .map((way) =>
      way === FAILED
        ? t({ message: 'Failed', context: 'attempts' })
        : (outcomes[way as keyof typeof outcomes] ?? way),
    )
    .join(', ');
  return t`Attempt: ${names}`;
}

function rangeText(since: string | undefined, until: string | undefined): string {
  const [from, to] = [since, until].map((time) => (time === undefined ? undefined : new Date(time)));
  if (from && to) {
    const range = formatTimeRange(from, to);
    return t`Attempted ${range}`;
  }
  const end = formatTimeToMinute(from ?? to ?? new Date());
  return from ? t`Attempted since ${end}` : t`Attempted before ${end}`;
}
