import { useMemo } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import { Button } from '../../components/button';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { ChartFigure } from '../overview/chart-figure';
import type { Series } from '../overview/columns';
import { timesOf } from '../overview/period';
import { useFresh } from '../overview/use-fresh';
import {
  type ChartActions,
  type DayRange,
  dayRangeOf,
  linesOf,
  sampleColumns,
  shardLines,
  sumOf,
} from './day-columns';
import { formatCount, formatSeconds } from './format';
import { HeaviestAccounts } from './heaviest-accounts';
import styles from './operations.module.css';
import { type Sample, useLastDay } from './use-last-day';

const queueLines = linesOf([
  ['Waiting', sumOf('waiting')],
  ['Delayed', sumOf('delayed')],
  ['Held, of the delayed', sumOf('held'), true],
]);
const oldestLine = linesOf([['Oldest waiting', (sample) => sample.oldest_waiting_seconds]]);
const rateLine = linesOf([['Attempts per second', (sample) => sample.attempts_per_second]]);
const slotLines = linesOf([
  ['In use', (sample) => sample.slots_in_use],
  ['Allowed', (sample) => sample.slots_allowed, true],
]);
const workerLine = linesOf([['Workers', (sample) => sample.workers]]);

/** Queues, workers and the accounts that use most, over the last 24 hours or the part of them that was drawn. */
export function LastDay({ shardCount }: { readonly shardCount: number }) {
  const { data, error, refetch } = useLastDay();
  const [search, setSearch] = useSearchParams();
  const [, navigate] = useLocation();
  const now = useFresh();
  const range = useMemo(() => dayRangeOf(search, now), [search, now]);
  const isPart = search.has('since');
  const chart = {
    onRange: (since: number, until: number) => setSearch(timesOf({ since, until })),
    onOpen: (href: string) => navigate(href),
  };
  return (
    <>
      <Section
        title="The last day"
        actions={isPart && <Button onClick={() => setSearch({})}>All of the last day</Button>}
      >
        <p className={styles['note']}>
          Workers take a sample every five minutes. Drag across a chart to zoom in.
        </p>
        {error && <Problem error={error} onRetry={() => void refetch()} />}
        <Charts
          samples={data?.data}
          hasShards={shardCount > 1}
          lengthMs={1_000 * (data?.interval_seconds ?? 0)}
          range={range}
          chart={chart}
        />
      </Section>
      <HeaviestAccounts range={range} chart={chart} />
    </>
  );
}

interface ChartsProps {
  /** undefined: they are being loaded. */
  readonly samples: readonly Sample[] | undefined;
  readonly hasShards: boolean;
  readonly lengthMs: number;
  readonly range: DayRange;
  readonly chart: ChartActions;
}

type ReadLines = (samples: ReadonlyMap<number, Sample>, starts: readonly number[]) => readonly Series[];

function Charts({ samples, hasShards, lengthMs, range, chart }: ChartsProps) {
  const byShard = useMemo(() => shardLines(samples ?? [], 'waiting'), [samples]);
  const heldByShard = useMemo(() => shardLines(samples ?? [], 'held'), [samples]);
  const figures: readonly (readonly [string, ReadLines, (value: number) => string])[] = [
    ['Jobs waiting, delayed and held', queueLines, formatCount],
    ...(hasShards
      ? ([
          ['Waiting, by shard', byShard, formatCount],
          ['Held, by shard', heldByShard, formatCount],
        ] as const)
      : []),
    ['Oldest waiting job', oldestLine, formatSeconds],
    ['Attempts of all workers', rateLine, formatCount],
    ['Attempts at once', slotLines, formatCount],
    ['Workers that run', workerLine, formatCount],
  ];
  return (
    <div className={styles['charts']}>
      {figures.map(([title, read, format], i) => (
        <div
          key={title}
          className={i === 0 || (i === figures.length - 1 && i % 2 === 1) ? styles['wide'] : undefined}
        >
          <SampleChart
            title={title}
            read={read}
            format={format}
            samples={samples}
            lengthMs={lengthMs}
            range={range}
            onRange={chart.onRange}
          />
        </div>
      ))}
    </div>
  );
}

interface SampleChartProps extends Omit<ChartsProps, 'chart' | 'hasShards'> {
  readonly title: string;
  readonly read: ReadLines;
  readonly format: (value: number) => string;
  readonly onRange: ChartActions['onRange'];
}

function SampleChart({ title, read, samples, lengthMs, range, format, onRange }: SampleChartProps) {
  const columns = useMemo(
    () => samples && sampleColumns(samples, lengthMs, range, read),
    [samples, lengthMs, range, read],
  );
  return (
    <ChartFigure
      title={title}
      columns={columns}
      kind="lines"
      format={format}
      isCount={read !== rateLine && read !== oldestLine}
      onRange={onRange}
    />
  );
}
