import { plural, t } from '@lingui/core/macro';
import { Plural } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { DeliveryMetrics, EventMetrics, MetricsPoint } from '../../api/metrics-queries';
import { formatCount, formatMs, formatNumber, formatPercent } from '../../language/formats';
import { FAILED } from '../deliveries/filters-in-url';
import { formatRate, isLow } from '../webhooks/health-figures';
import styles from './overview.module.css';
import { attemptsHref } from './period';

interface TilesProps {
  readonly total: DeliveryMetrics | undefined;
  /** Of the time before, which is as long. Absent: it is not known. */
  readonly before: DeliveryMetrics | undefined;
  /** Absent: they are not counted. */
  readonly events: EventMetrics | 'loading' | undefined;
  /** In the address of a list: the webhook or the type alone. */
  readonly filters: Readonly<Record<string, string>>;
  /** It goes on until now. */
  readonly isOpen: boolean;
}

interface Tile {
  readonly name: string;
  readonly value: string;
  readonly href?: string | undefined;
  readonly detail?: ReactNode;
  readonly change?: string | undefined;
  readonly isBad?: boolean;
}

/** The sums of a period, each with what it leads to and how it differs from the time before. */
export function Tiles({ total, ...input }: TilesProps) {
  const tiles = tilesOf(total ?? NONE, input);
  return (
    <dl className={styles['cards']} aria-label={t`All of this time`} aria-busy={!total}>
      {tiles.map(({ name, value, href, detail, change, isBad = false }) => (
        <div key={name} className={`${styles['card']} ${total && isBad ? styles['bad'] : ''}`}>
          <dt>{name}</dt>
          <dd className={styles['value']}>
            {total ? href === undefined ? value : <Link href={href}>{value}</Link> : ' '}
          </dd>
          <dd className={styles['detail']}>{(total && detail) || ' '}</dd>
          <dd className={styles['detail']}>{(total && change) || ' '}</dd>
        </div>
      ))}
    </dl>
  );
}

const NONE: DeliveryMetrics = {
  data: [],
  interval: 'total',
  since: new Date(0).toISOString(),
  until: new Date(0).toISOString(),
  source: 'recent',
};

function tilesOf(
  total: DeliveryMetrics,
  { before, events, filters, isOpen }: Omit<TilesProps, 'total'>,
): readonly Tile[] {
  const [now, former] = [total.data[0], before?.data[0]];
  const attempts = now?.attempts ?? 0;
  const exhausted = now?.exhausted ?? 0;
  const rate = attempts === 0 ? null : (now?.delivered ?? 0) / attempts;
  const formerRate = former && former.delivered / former.attempts;
  const hrefOf = (more: Readonly<Record<string, string>>) =>
    attemptsHref(Date.parse(total.since), Date.parse(total.until), { ...filters, ...more });
  // Of times of different lengths, such as one that goes on, what there is in an hour is compared.
  const share = before
    ? lengthOf(before) / Math.min(lengthOf(total), new Date().getTime() - Date.parse(total.since))
    : 1;
  const more = (name: 'attempts' | 'exhausted') => moreText((now?.[name] ?? 0) * share, former?.[name]);
  return [
    ...(events ? [eventsTile(events)] : []),
    {
      name: t`Attempts`,
      value: formatCount(attempts),
      href: hrefOf({}),
      detail: plural(now?.retried ?? 0, { one: '# of them a retry', other: '# of them retries' }),
      change: more('attempts'),
    },
    {
      name: t`Success rate`,
      value: formatRate(rate),
      detail: now?.failed ? (
        <Link href={hrefOf({ attempt: FAILED })}>
          <Plural value={now.failed} one="# failed" other="# failed" />
        </Link>
      ) : (
        t`none failed`
      ),
      change: rate !== null && formerRate !== undefined ? pointsText(rate - formerRate) : undefined,
      isBad: isLow(rate),
    },
    {
      name: t({ message: 'Exhausted', context: 'deliveries' }),
      value: formatCount(exhausted),
      // Those of a time that is over may have been exhausted later.
      href: isOpen && exhausted > 0 ? hrefOf({ status: 'exhausted' }) : undefined,
      detail: t`given up after the last retry`,
      change: more('exhausted'),
      isBad: exhausted > 0,
    },
    durationTile(t`Time to the response`, now, former, ['p50_ms', 'p95_ms']),
    durationTile(t`Time to delivery`, now, former, ['lag_p50_ms', 'lag_p95_ms']),
  ];
}

const lengthOf = ({ since, until }: DeliveryMetrics) => Date.parse(until) - Date.parse(since);

function eventsTile(events: EventMetrics | 'loading'): Tile {
  const name = t`Events accepted`;
  if (events === 'loading') return { name, value: ' ' };
  const { since, until, data } = events;
  const count = data.reduce((sum, one) => sum + one.events, 0);
  return { name, value: formatCount(count), href: `/events?${new URLSearchParams({ since, until })}` };
}

type Duration = 'p50_ms' | 'p95_ms' | 'lag_p50_ms' | 'lag_p95_ms';

function durationTile(
  name: string,
  now: MetricsPoint | undefined,
  former: MetricsPoint | undefined,
  [median, high]: readonly [Duration, Duration],
): Tile {
  const value = now?.[median] ?? null;
  return {
    name,
    value: formatMs(value),
    detail: `p95 ${formatMs(now?.[high] ?? null)}`,
    change: value === null ? undefined : moreText(value, former?.[median] ?? undefined),
  };
}

const MOST_PERCENT = 10;

/** How much more there is than before. `undefined`: there was nothing, or it is not known. */
export function moreText(now: number, before: number | undefined): string | undefined {
  if (!before) return undefined;
  const change = now / before - 1;
  if (Math.abs(change) < 0.005) return t`as before`;
  const [factor, share] = [formatCount(Math.round(change + 1)), formatPercent(Math.abs(change))];
  if (change > MOST_PERCENT) return t`▲ ${factor} times as much as before`;
  return change > 0 ? t`▲ ${share} more than before` : t`▼ ${share} less than before`;
}

function pointsText(change: number): string {
  const size = formatNumber(Math.abs(change) * 100);
  if (Math.abs(change) * 1_000 < 0.5) return t`as before`;
  return change > 0 ? t`▲ ${size} points` : t`▼ ${size} points`;
}
