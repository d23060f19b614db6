import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import {
  type FocusEvent,
  type KeyboardEvent,
  lazy,
  type ReactNode,
  Suspense,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { Link } from 'wouter';
import { Button } from '../../components/button';
import { formatClock, formatDate, formatTimeRange, formatTimeToMinute } from '../../language/formats';
import { locale } from '../../language/language';
import { type Columns, csvOf, isNothing, type Series } from './columns';
import styles from './overview.module.css';
import type { PlotProps } from './plot';
import plotStyles from './plot.module.css';
import { saveChart, saveText } from './save-file';

// A browser that can't load it, or not draw by it, has the tables.
const loadPlot = () =>
  importPlot().catch((error: unknown) => {
    // oxlint-disable-next-line no-console -- the page says that there is no chart; this says why
    console.error(error);
    return { default: NoPlot };
  });

/** uPlot writes numbers as `navigator.language` does, and Intl throws on what some browsers have there, such as `en-US@posix`. */
async function importPlot() {
  if (!isTag(navigator.language))
    Object.defineProperty(navigator, 'language', { value: locale, configurable: true });
  return await import('./plot');
}

function isTag(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length > 0;
  } catch {
    return false;
  }
}
const Plot = lazy(loadPlot);

function NoPlot() {
  return (
    <p className={styles['none']}>
      <Trans>The chart can’t be drawn here. The table says the same.</Trans>
    </p>
  );
}

export interface ChartFigureProps extends Omit<PlotProps, 'columns'> {
  readonly title: string;
  /** undefined: it is being loaded. */
  readonly columns: Columns | undefined;
  /** The link of an interval, or of a series in it; `undefined`: none. */
  readonly hrefOf?: ((since: number, until: number, series?: Series) => string | undefined) | undefined;
  /** A click on the chart goes there as well. */
  readonly onOpen?: ((href: string) => void) | undefined;
}

/** A chart, the same as a table, and both to take along. */
export function ChartFigure({ title, columns, hrefOf: whereOf, onOpen, ...plot }: ChartFigureProps) {
  const id = useId();
  const figure = useRef<HTMLElement>(null);
  const [isTable, setTable] = useState(false);
  // It comes while the counts are read, not after them.
  useEffect(() => void loadPlot(), []);
  const isEmpty =
    columns !== undefined && columns.series.every(({ values }) => values.every(isNothing[plot.kind]));
  const hrefOf = (start: number, series?: Series) =>
    columns && whereOf?.(start, start + columns.lengthMs, series);
  const { pointed, pinned, setPointed, setPinned, leave } = useMarks(columns);
  const shown = pointed ?? pinned;
  const open = (start: number, series?: Series) => {
    const href = hrefOf(start, series);
    if (href !== undefined) onOpen?.(href);
  };
  const begin = columns?.begin === undefined ? undefined : beginText(columns.begin, columns);
  const name = title.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '-');
  return (
    <figure ref={figure} className={styles['figure']} aria-labelledby={id} aria-busy={!columns}>
      <div className={styles['figureHead']}>
        <h2 id={id}>
          {title}
          {begin !== undefined && (
            <span className={styles['begin']}>
              {' '}
              <Trans>since {begin}</Trans>
            </span>
          )}
        </h2>
        <div className={styles['tools']}>
          <Button
            size="small"
            kind="quiet"
            aria-expanded={isTable}
            disabled={!columns}
            onClick={() => setTable(!isTable)}
          >
            {isTable ? t`Chart` : t`Table`}
          </Button>
          <Button
            size="small"
            kind="quiet"
            aria-label={t`${title} as CSV`}
            disabled={!columns}
            onClick={() => columns && saveText(`${name}.csv`, csvOf(columns))}
          >
            <Trans>CSV</Trans>
          </Button>
          <Button
            size="small"
            kind="quiet"
            aria-label={t`${title} as PNG`}
            disabled={!columns || isTable || isEmpty}
            onClick={() =>
              columns && saveChart(figure.current, { name: `${name}.png`, title, series: columns.series })
            }
          >
            <Trans>PNG</Trans>
          </Button>
        </div>
      </div>
      {isTable && columns ? (
        <ValuesTable title={title} columns={columns} format={plot.format} hrefOf={hrefOf} />
      ) : (
        <>
          <div className={styles['chart']}>
            {isEmpty && (
              <p className={styles['none']}>
                <Trans>Nothing in this period.</Trans>
              </p>
            )}
            {columns && !isEmpty && (
              <Walk
                title={title}
                columns={columns}
                format={plot.format}
                at={pinned}
                onMove={setPinned}
                onLeave={leave}
                onEnter={(start) => open(start)}
              >
                <Suspense fallback={<div aria-busy="true" />}>
                  <Plot
                    columns={columns}
                    {...plot}
                    onPick={whereOf && open}
                    marked={pinned}
                    isPointed={pointed !== undefined}
                    onPoint={setPointed}
                    onTap={(index) => setPinned(index === pinned ? undefined : index, true)}
                  />
                </Suspense>
              </Walk>
            )}
          </div>
          <Legend
            columns={isEmpty ? undefined : columns}
            format={plot.format}
            isSum={plot.kind === 'bars'}
            at={shown}
            hrefOf={shown === undefined ? undefined : hrefOf}
          />
        </>
      )}
    </figure>
  );
}

/** The places of the times that the pointer is at, and that stays marked. Those of other columns are none. */
function useMarks(columns: Columns | undefined) {
  const [pointed, setPointed] = useState<number>();
  const [pinnedAt, setPinnedAt] = useState<number>();
  // What a finger has marked stays when it taps elsewhere.
  const [stays, setStays] = useState(false);
  const pinned = columns?.starts.findIndex((start) => start === pinnedAt) ?? -1;
  const length = columns?.starts.length ?? 0;
  return {
    pointed: pointed !== undefined && pointed < length ? pointed : undefined,
    pinned: pinned < 0 ? undefined : pinned,
    setPointed,
    setPinned: (index: number | undefined, isTapped = false) => {
      setPinnedAt(index === undefined ? undefined : columns?.starts[index]);
      setStays(isTapped);
    },
    leave: () => {
      if (!stays) setPinnedAt(undefined);
    },
  };
}

interface WalkProps {
  readonly title: string;
  readonly columns: Columns;
  readonly format: (value: number) => string;
  readonly at: number | undefined;
  readonly onMove: (index: number | undefined) => void;
  /** The keyboard goes elsewhere. */
  readonly onLeave: () => void;
  readonly onEnter: (start: number) => void;
  readonly children: ReactNode;
}

/** Arrow keys, Home and End walk through the times of a chart, and screen readers say the values. Enter opens the list of one. */
function Walk({ title, columns, format, at, onMove, onLeave, onEnter, children }: WalkProps) {
  const last = columns.starts.length - 1;
  const now = at ?? last;
  const steps: Readonly<Partial<Record<string, number>>> = {
    ArrowLeft: now - 1,
    ArrowDown: now - 1,
    ArrowRight: at === undefined ? last : now + 1,
    ArrowUp: at === undefined ? last : now + 1,
    Home: 0,
    End: last,
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const start = at === undefined ? undefined : columns.starts[at];
    const step = steps[event.key];
    if (step !== undefined) onMove(Math.min(Math.max(step, 0), last));
    else if (event.key === 'Escape') onMove(undefined);
    else if (event.key === 'Enter' && start !== undefined) onEnter(start);
    else return;
    event.preventDefault();
  };
  const onBlur = ({ relatedTarget, currentTarget }: FocusEvent) => {
    // The links of the values stay where they are.
    if (!currentTarget.closest('figure')?.contains(relatedTarget)) onLeave();
  };
  const time = timeText(columns, now);
  const values = columns.series.flatMap(({ label, values: all }) => {
    const value = all[now];
    return value === null || value === undefined ? [] : `${label} ${format(value)}`;
  });
  const all = lists.format(values);
  return (
    <div
      className={styles['walk']}
      // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- an <input> could not have the chart in it
      role="slider"
      tabIndex={0}
      aria-label={t`${title}: the values of a time`}
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={now}
      aria-valuetext={values.length === 0 ? t`${time}: nothing` : t`${time}: ${all}`}
      onKeyDown={onKeyDown}
      onBlur={onBlur}
    >
      {children}
    </div>
  );
}

interface LegendProps {
  /** undefined: there is nothing to explain. It keeps its place. */
  readonly columns: Columns | undefined;
  readonly format: (value: number) => string;
  /** Without a time it says the sums of all. */
  readonly isSum: boolean;
  readonly at: number | undefined;
  readonly hrefOf: ((start: number, series?: Series) => string | undefined) | undefined;
}

/** The series, with their values at the marked time. */
function Legend({ columns, format, isSum, at, hrefOf }: LegendProps) {
  const start = at === undefined ? undefined : columns?.starts[at];
  const valueOf = ({ values }: Series) => {
    if (at !== undefined) return values[at] ?? null;
    return isSum ? values.reduce<number>((sum, value) => sum + (value ?? 0), 0) : null;
  };
  return (
    <>
      <p className={styles['moment']}>
        {columns && at === undefined && (isSum ? t`All of this time` : t`Point at a time to see its values`)}
        {columns && at !== undefined && start !== undefined && (
          <LinkIf href={hrefOf?.(start)}>{timeText(columns, at)}</LinkIf>
        )}
      </p>
      <ul className={styles['legend']}>
        {columns?.series.map((one) => {
          const { label, color, isDashed = false, leads } = one;
          const value = valueOf(one);
          return (
            <li key={label}>
              <span
                aria-hidden="true"
                className={`${plotStyles[`series${color}`]} ${styles[isDashed ? 'dashed' : 'swatch']}`}
              />
              <span>{label}</span>
              <span className={styles['legendValue']}>
                <LinkIf href={value && leads && start !== undefined ? hrefOf?.(start, one) : undefined}>
                  {value === null ? '' : format(value)}
                </LinkIf>
              </span>
            </li>
          );
        })}
      </ul>
    </>
  );
}

const DAY_MS = 86_400_000;

function beginText(begin: number, { starts }: Columns): string {
  return begin > (starts.at(-1) ?? 0) - DAY_MS ? formatClock(begin) : formatTimeToMinute(begin);
}

/** From when to when the time at a place of a chart goes. */
function timeText({ starts, lengthMs }: Columns, index: number): string {
  const start = starts[index] ?? 0;
  if (lengthMs >= DAY_MS) return formatDate(start);
  return formatTimeRange(start, start + lengthMs);
}

interface ValuesTableProps {
  readonly title: string;
  readonly columns: Columns;
  readonly format: (value: number) => string;
  readonly hrefOf: (start: number, series?: Series) => string | undefined;
}

const lists = new Intl.ListFormat(locale, { type: 'unit' });

/** The newest first; times in which there was nothing are left out. */
function ValuesTable({ title, columns: { starts, series }, format, hrefOf }: ValuesTableProps) {
  const rows = starts.map((start, i) => ({ start, values: series.map(({ values }) => values[i] ?? null) }));
  const filled = rows
    .filter(({ values }) => values.some((value) => value !== null && value !== 0))
    .toReversed();
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by keys
    <section className={styles['scroll']} aria-label={t`${title}, as a table`} tabIndex={0}>
      <table className={styles['values']} aria-label={title}>
        <thead>
          <tr>
            <th scope="col">
              <Trans context="time">From</Trans>
            </th>
            {series.map(({ label }) => (
              <th key={label} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {filled.map(({ start, values }) => (
            <tr key={start}>
              <th scope="row">
                <LinkIf href={hrefOf(start)}>{formatTimeToMinute(start)}</LinkIf>
              </th>
              {values.map((value, i) => (
                <td key={series[i]?.label}>
                  <LinkIf href={value && series[i]?.leads ? hrefOf(start, series[i]) : undefined}>
                    {value === null ? '–' : format(value)}
                  </LinkIf>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {filled.length === 0 && (
        <p className={styles['none']}>
          <Trans>Nothing in this period.</Trans>
        </p>
      )}
    </section>
  );
}

function LinkIf({ href, children }: { readonly href: string | undefined; readonly children: string }) {
  return href === undefined ? children : <Link href={href}>{children}</Link>;
}
