import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useMemo } from 'react';
import { useSearchParams } from 'wouter';
import { Button } from '../../components/button';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { formatCount, formatMs, formatNumber } from '../../language/formats';
import { ChartFigure } from '../overview/chart-figure';
import type { Series } from '../overview/columns';
import { timesOf } from '../overview/period';
import { useFresh } from '../overview/use-fresh';
import { type DayRange, dayRangeOf, linesOf, sampleColumns, shardLines, sumOf } from './day-columns';
import { HeaviestAccounts } from './heaviest-accounts';
import styles from './operations.module.css';
import { type Sample, useLastDay } from './use-last-day';

const queueLines = linesOf([
  [t`Waiting`, sumOf('waiting')],
  [t`Delayed`, sumOf('delayed')],
  [t`Held, of the delayed`, sumOf('held'), true],
]);
const oldestLine = linesOf([[t`Oldest waiting`, (sample) => 1_000 * sample.oldest_waiting_seconds]]);
const rateLine = linesOf([[t`Attempts per second`, (sample) => sample.attempts_per_second]]);
const slotLines = linesOf([
  [t`In use`, (sample) => sample.slots_in_use],
  [t`Allowed`, (sample) => sample.slots_allowed, true],
]);
const workerLine = linesOf([[t`Workers`, (sample) => sample.workers]]);

/** Queues, workers and the accounts that use most, over the last 24 hours or the part of them that was drawn. */
export function LastDay({ shardCount }: { readonly shardCount: number }) {
  const { data, error, refetch } = useLastDay();
  const [search, setSearch] = useSearchParams();
  const now = useFresh();
  const range = useMemo(() => dayRangeOf(search, now), [search, now]);
  const isPart = search.has('since');
  const onRange = (since: number, until: number) => setSearch(timesOf({ since, until }));
  return (
    <>
      <Section
        title={t`The last day`}
        actions={
          isPart && (
            <Button onClick={() => setSearch({})}>
              <Trans>All of the last day</Trans>
            </Button>
          )
        }
      >
        <p className={styles['note']}>
          {data && mostText(data.data)}{' '}
          <Trans>Workers take a sample every five minutes. Drag across a chart to zoom in.</Trans>
        </p>
        {error && <Problem error={error} onRetry={() => void refetch()} />}
        <Charts
          samples={data?.data}
          hasShards={shardCount > 1}
          lengthMs={1_000 * (data?.interval_seconds ?? 0)}
          range={range}
          onRange={onRange}
        />
      </Section>
      <HeaviestAccounts range={range} onRange={onRange} />
    </>
  );
}

function mostText(samples: readonly Sample[]): string {
  const waiting = Math.max(0, ...samples.map(sumOf('waiting')));
  if (waiting === 0) return t`No job had to wait.`;
  const longest = formatMs(1_000 * Math.max(...samples.map((sample) => sample.oldest_waiting_seconds)));
  return plural(waiting, {
    one: `At most # job waited at once, and for ${longest} at the longest.`,
    other: `At most # jobs waited at once, and for ${longest} at the longest.`,
  });
}

interface ChartsProps {
  /** undefined: they are being loaded. */
  readonly samples: readonly Sample[] | undefined;
  readonly hasShards: boolean;
  readonly lengthMs: number;
  readonly range: DayRange;
  readonly onRange: (since: number, until: number) => void;
}

type ReadLines = (samples: ReadonlyMap<number, Sample>, starts: readonly number[]) => readonly Series[];

function Charts({ samples, hasShards, lengthMs, range, onRange }: ChartsProps) {
  const byShard = useMemo(() => shardLines(samples ?? [], 'waiting'), [samples]);
  const heldByShard = useMemo(() => shardLines(samples ?? [], 'held'), [samples]);
  const figures: readonly (readonly [string, ReadLines, (value: number) => string])[] = [
    [t`Jobs waiting, delayed and held`, queueLines, formatCount],
    ...(hasShards
      ? ([
          [t`Waiting, by shard`, byShard, formatCount],
          [t`Held, by shard`, heldByShard, formatCount],
        ] as const)
      : []),
    [t`Oldest waiting job`, oldestLine, formatMs],
    [t`Attempts of all workers`, rateLine, formatNumber],
    [t`Attempts at once`, slotLines, formatCount],
    [t`Workers that run`, workerLine, formatCount],
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
            onRange={onRange}
          />
        </div>
      ))}
    </div>
  );
}

interface SampleChartProps extends Omit<ChartsProps, 'hasShards'> {
  readonly title: string;
  readonly read: ReadLines;
  readonly format: (value: number) => string;
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
      steps={read === oldestLine ? 'durations' : read === rateLine ? undefined : 'counts'}
      onRange={onRange}
    />
  );
}
