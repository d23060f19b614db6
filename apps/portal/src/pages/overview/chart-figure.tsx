import { lazy, Suspense, useEffect, useId, useRef, useState } from 'react';
import { Link } from 'wouter';
import { Button } from '../../components/button';
import { type Columns, csvOf, type Series } from './columns';
import styles from './overview.module.css';
import type { PlotProps } from './plot';
import plotStyles from './plot.module.css';
import { saveChart, saveText } from './save-file';

// A browser that can't load it, or not draw by it, has the tables.
const loadPlot = () => import('./plot').catch(() => ({ default: NoPlot }));
const Plot = lazy(loadPlot);

function NoPlot() {
  return <p className={styles['none']}>The chart can’t be drawn here. The table says the same.</p>;
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

// A line at 0 says something: a success rate of 0 %, say.
const isNothing = {
  bars: (value: number | null) => !value,
  lines: (value: number | null) => value === null,
} as const;

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
  const open = (start: number, series?: Series) => {
    const href = hrefOf(start, series);
    if (href !== undefined) onOpen?.(href);
  };
  const name = title.toLowerCase().replaceAll(/\W+/g, '-');
  return (
    <figure ref={figure} className={styles['figure']} aria-labelledby={id} aria-busy={!columns}>
      <div className={styles['figureHead']}>
        <h2 id={id}>{title}</h2>
        <div className={styles['tools']}>
          <Button
            size="small"
            kind="quiet"
            aria-expanded={isTable}
            disabled={!columns}
            onClick={() => setTable(!isTable)}
          >
            {isTable ? 'Chart' : 'Table'}
          </Button>
          <Button
            size="small"
            kind="quiet"
            aria-label={`${title} as CSV`}
            disabled={!columns}
            onClick={() => columns && saveText(`${name}.csv`, csvOf(columns))}
          >
            CSV
          </Button>
          <Button
            size="small"
            kind="quiet"
            aria-label={`${title} as PNG`}
            disabled={!columns || isTable || isEmpty}
            onClick={() =>
              columns && saveChart(figure.current, { name: `${name}.png`, title, series: columns.series })
            }
          >
            PNG
          </Button>
        </div>
      </div>
      {isTable && columns ? (
        <ValuesTable title={title} columns={columns} format={plot.format} hrefOf={hrefOf} />
      ) : (
        <>
          <div className={styles['chart']}>
            {isEmpty && <p className={styles['none']}>Nothing in this period.</p>}
            {columns && !isEmpty && (
              <Suspense fallback={<div aria-busy="true" />}>
                <Plot columns={columns} {...plot} onPick={whereOf && open} />
              </Suspense>
            )}
          </div>
          <Legend series={isEmpty ? [] : (columns?.series ?? [])} />
        </>
      )}
    </figure>
  );
}

/** There also without any: nothing may move when they come. */
function Legend({ series }: { readonly series: readonly Series[] }) {
  return (
    <ul className={styles['legend']}>
      {series.map(({ label, color, isDashed = false }) => (
        <li key={label}>
          <span
            aria-hidden="true"
            className={`${plotStyles[`series${color}`]} ${styles[isDashed ? 'dashed' : 'swatch']}`}
          />
          {label}
        </li>
      ))}
    </ul>
  );
}

interface ValuesTableProps {
  readonly title: string;
  readonly columns: Columns;
  readonly format: (value: number) => string;
  readonly hrefOf: (start: number, series?: Series) => string | undefined;
}

const times = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** The newest first; times in which there was nothing are left out. */
function ValuesTable({ title, columns: { starts, series }, format, hrefOf }: ValuesTableProps) {
  const rows = starts.map((start, i) => ({ start, values: series.map(({ values }) => values[i] ?? null) }));
  const filled = rows
    .filter(({ values }) => values.some((value) => value !== null && value !== 0))
    .toReversed();
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by keys
    <section className={styles['scroll']} aria-label={`${title}, as a table`} tabIndex={0}>
      <table className={styles['values']} aria-label={title}>
        <thead>
          <tr>
            <th scope="col">From</th>
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
                <LinkIf href={hrefOf(start)}>{times.format(new Date(start))}</LinkIf>
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
      {filled.length === 0 && <p className={styles['none']}>Nothing in this period.</p>}
    </section>
  );
}

function LinkIf({ href, children }: { readonly href: string | undefined; readonly children: string }) {
  return href === undefined ? children : <Link href={href}>{children}</Link>;
}
