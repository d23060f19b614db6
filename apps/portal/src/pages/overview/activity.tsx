import { t } from '@lingui/core/macro';
import type { ReactNode } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import { Problem } from '../../components/problem';
import { formatCount } from '../../language/formats';
import { ChartFigure } from './chart-figure';
import type { Series } from './columns';
import styles from './overview.module.css';
import { attemptsHref, type Period, periodOf, timesOf } from './period';
import { PeriodBar } from './period-bar';
import { Tiles } from './tiles';
import { useFresh } from './use-fresh';
import { type Scope, useOverview } from './use-overview';

/** What was sent in the period of the page's address: by the account, or by one webhook or type. */
export function useActivity(scope: Scope) {
  const now = useFresh();
  const { period, change, draw } = usePeriod(now);
  const [, navigate] = useLocation();
  const { webhook_id: webhook, event_type: type } = scope;
  const filters = { ...(webhook !== undefined && { webhook }), ...(type !== undefined && { type }) };
  /** What every chart of the page has. */
  const chart = {
    hrefOf: (since: number, until: number, series?: Series) =>
      attemptsHref(since, until, { ...filters, ...series?.leads }),
    onRange: draw,
    onOpen: (href: string) => navigate(href),
  };
  return { now, period, change, filters, chart, read: useOverview(period, scope) };
}

interface ActivityProps {
  readonly activity: ReturnType<typeof useActivity>;
  /** Charts beside that of the attempts. */
  readonly children?: ReactNode;
}

/** The period, its sums, and its attempts as a chart. */
export function Activity({
  activity: { now, period, change, filters, chart, read },
  children,
}: ActivityProps) {
  return (
    <>
      <PeriodBar period={period} now={now} source={read.total?.source} onChange={change} />
      {read.error && <Problem error={read.error} onRetry={read.retry} />}
      <Tiles
        total={read.total}
        before={read.before}
        events={read.events}
        filters={filters}
        isOpen={period.until === undefined}
      />
      <div className={styles['charts']}>
        <div className={styles['wide']}>
          <ChartFigure
            title={t`Attempts by response`}
            columns={read.responses}
            kind="bars"
            format={formatCount}
            {...chart}
          />
        </div>
        {children}
      </div>
    </>
  );
}

type Changed = Readonly<Record<string, string | undefined>>;

/** The period that the page's address asks for, and how it is changed. */
function usePeriod(now: number) {
  const [search, setSearch] = useSearchParams();
  const period: Period = periodOf(search, now);
  const change = (changed: Changed) =>
    setSearch((former) => {
      const next = new URLSearchParams(former);
      for (const [name, value] of Object.entries(changed)) {
        if (value === undefined) next.delete(name);
        else next.set(name, value);
      }
      return next;
    });
  const draw = (since: number, until: number) => change({ range: undefined, ...timesOf({ since, until }) });
  return { period, change, draw };
}
