import { useEffect, useEffectEvent, useRef } from 'react';
import uPlot from 'uplot';
import { formatCompact, formatDay } from '../../language/formats';
import { locale } from '../../language/language';
import 'uplot/dist/uPlot.min.css';
import { type Columns, type Series, seriesAt, stacked } from './columns';
import styles from './plot.module.css';

const HEIGHT = 200;
// A click moves the pointer a little as well.
const LEAST_DRAWN_PX = 6;
const BAR_SHARE = 0.9;
const MOST_BAR_PX = 48;
// What is left of narrower bars beside their outlines is hardly seen, or nothing.
const LEAST_OUTLINED_PX = 4;
// What is beside the bars: the axis, and room for the last of the times.
const BESIDE_PX = 72 + 32;
// Nobody has half an event.
const COUNTS = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();
// In milliseconds: the steps that people count times in.
const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000];
const DURATIONS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 20, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 20, 30].map((count) => count * MINUTE),
  ...[1, 2, 4, 8, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100].map((count) => count * DAY),
];
// Longer numbers have no room beside an axis, and are written as `200M`.
const MOST_CHARACTERS = 9;
// From one time to the next beside the other axis: none touches another.
const TIME_PX = 80;
const FONT = '12px system-ui, sans-serif';

const STEPS = { counts: COUNTS, durations: DURATIONS };

export interface PlotProps {
  readonly columns: Columns;
  readonly kind: 'bars' | 'lines';
  readonly format: (value: number) => string;
  /** What stands beside the lines of the grid: whole numbers, or durations whose values are milliseconds. Bars are always counts. */
  readonly steps?: keyof typeof STEPS | undefined;
  /** The highest value, if it is not what there is. */
  readonly most?: number | undefined;
  /** A range was drawn. Milliseconds since the Unix epoch. */
  readonly onRange: (since: number, until: number) => void;
  /** One of its times was clicked on, and one of its series if it is a bar. */
  readonly onPick?: ((start: number, series: Series | undefined) => void) | undefined;
}

interface DrawnPlotProps extends PlotProps {
  /** The place of the time that is marked, whether or not the pointer is anywhere. */
  readonly marked: number | undefined;
  /** The pointer is on the chart, which shows where. */
  readonly isPointed: boolean;
  /** The pointer is at the time at this place; `undefined`: it has left the chart. */
  readonly onPoint: (index: number | undefined) => void;
  /** Somebody without a pointer has tapped on the time at this place. */
  readonly onTap: (index: number) => void;
}

/** A chart on a canvas. What is around it says the values, and takes the keys. */
export default function Plot(props: DrawnPlotProps) {
  const {
    columns,
    kind,
    format,
    steps = kind === 'bars' ? 'counts' : undefined,
    most,
    marked,
    isPointed,
    onRange,
    onPick,
    onPoint,
    onTap,
  } = props;
  const place = useRef<HTMLDivElement>(null);
  const current = useRef<uPlot>(undefined);
  const range = useEffectEvent(onRange);
  const pick = useEffectEvent((start: number, series: Series | undefined) => onPick?.(start, series));
  const point = useEffectEvent((index: number | undefined, plot: uPlot) => {
    onPoint(index);
    // The chart hides its line when a pointer leaves, and also where a finger has marked a time.
    if (index === undefined && !isPointed) showMark(plot, columns, marked);
  });
  const tap = useEffectEvent(onTap);

  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    const draw = () => {
      const options = optionsOf(element, {
        columns,
        kind,
        format,
        steps,
        most,
        onRange: range,
        onPick: pick,
        onPoint: point,
        onTap: tap,
      });
      current.current = new uPlot(options, dataOf(columns, kind), element);
      return current.current;
    };
    let plot = draw();
    const redraw = () => {
      plot.destroy();
      plot = draw();
    };
    const sizes = new ResizeObserver(() => {
      if (element.clientWidth !== plot.width) redraw();
    });
    sizes.observe(element);
    // The colours of a canvas are those of the moment at which it was drawn.
    const themes = new MutationObserver(redraw);
    themes.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme', 'style'] });
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', redraw);
    return () => {
      sizes.disconnect();
      themes.disconnect();
      scheme.removeEventListener('change', redraw);
      plot.destroy();
    };
  }, [columns, kind, format, steps, most]);

  useEffect(() => {
    if (current.current && !isPointed) showMark(current.current, columns, marked);
  }, [marked, isPointed, columns]);

  return <div ref={place} className={styles['plot']} aria-hidden="true" />;
}

/** Nobody points there. */
function showMark(plot: uPlot, { starts, lengthMs }: Columns, marked: number | undefined): void {
  const start = marked === undefined ? undefined : starts[marked];
  const left = start === undefined ? -1 : plot.valToPos((start + lengthMs / 2) / 1_000, 'x');
  plot.setCursor({ left, top: left < 0 ? -1 : 0 }, false);
}

function dataOf({ starts, series }: Columns, kind: PlotProps['kind']): uPlot.AlignedData {
  const times = starts.map((start) => start / 1_000);
  // The tallest first: what is drawn later stands in front of it.
  const values = kind === 'bars' ? stacked(series).toReversed() : series.map((one) => one.values);
  // Nothing has no bar, not one without height.
  return [
    times,
    ...values.map((each) => each.map((value) => (kind === 'bars' && value === 0 ? null : value))),
  ];
}

interface PlotOptions extends Omit<DrawnPlotProps, 'marked' | 'isPointed' | 'onPoint'> {
  readonly onPoint: (index: number | undefined, plot: uPlot) => void;
}

function optionsOf(
  element: HTMLElement,
  { columns, kind, format, steps, most, onRange, onPick, onPoint, onTap }: PlotOptions,
): uPlot.Options {
  const { starts, series, lengthMs } = columns;
  const colors = colorsOf(element);
  const inOrder = kind === 'bars' ? series.toReversed() : series;
  const barPx = (BAR_SHARE * (element.clientWidth - BESIDE_PX)) / starts.length;
  let isFinger = false;
  const axis = { stroke: colors.text, font: FONT, ticks: { stroke: colors.line, width: 1 } };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    padding: [8, 32, 0, 0],
    scales: {
      x: {
        range: () => [(starts[0] ?? 0) / 1_000, ((starts.at(-1) ?? 0) + lengthMs) / 1_000],
      },
      y: { range: (_plot, _least, greatest) => [0, most ?? Math.max(greatest * 1.05, 1)] },
    },
    axes: [
      {
        ...axis,
        size: 32,
        space: TIME_PX,
        grid: { show: false },
        values: (_plot, times) => timeTexts(times, lengthMs),
      },
      {
        ...axis,
        grid: { stroke: colors.line, width: 1 },
        size: 72,
        ...(steps && { incrs: STEPS[steps] }),
        values: (_plot, values) => valueTexts(values, format),
      },
    ],
    series: [
      {},
      ...inOrder.map(({ label, color, isDashed = false }): uPlot.Series => {
        const stroke = colors.series[color - 1] ?? colors.text;
        if (kind === 'bars') {
          const paths = uPlot.paths.bars?.({ size: [BAR_SHARE, MOST_BAR_PX], align: 1 });
          return {
            label,
            fill: stroke,
            stroke: colors.surface,
            width: barPx < LEAST_OUTLINED_PX ? 0 : 1,
            points: { show: false },
            ...(paths && { paths }),
          };
        }
        return {
          label,
          stroke,
          width: 2,
          spanGaps: false,
          ...(isDashed && { dash: [6, 4] }),
          points: { show: true, size: 5, filter: aloneIn },
        };
      }),
    ],
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false },
      points: { show: kind === 'lines' },
    },
    hooks: {
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width < LEAST_DRAWN_PX) return;
          onRange(1_000 * plot.posToVal(left, 'x'), 1_000 * plot.posToVal(left + width, 'x'));
        },
      ],
      setCursor: [
        (plot) => {
          const { left = -1 } = plot.cursor;
          const index = left < 0 || isFinger ? -1 : indexAt(plot, columns, left);
          onPoint(index in starts ? index : undefined, plot);
        },
      ],
      ready: [
        (plot) => {
          // After a tap, browsers send the events of a mouse that never leaves.
          for (const type of ['pointerdown', 'pointermove'] as const)
            plot.over.addEventListener(type, ({ pointerType }) => {
              isFinger = pointerType === 'touch';
            });
          plot.over.addEventListener('click', (event) => {
            const { offsetX, offsetY } = event;
            if (plot.select.width >= LEAST_DRAWN_PX) return;
            const index = indexAt(plot, columns, offsetX);
            const start = starts[index];
            if (start === undefined) return;
            // A finger can't point before it chooses.
            if (isFinger) return onTap(index);
            const height = plot.posToVal(offsetY, 'y');
            onPick?.(start, kind === 'bars' ? seriesAt(series, index, height) : undefined);
          });
        },
      ],
    },
  };
}

/** Those that no line leads to, which would not be seen. */
function aloneIn(plot: uPlot, index: number): number[] {
  const values = plot.data[index] ?? [];
  const isThere = (at: number) => values[at] !== null && values[at] !== undefined;
  return [...values.keys()].filter((at) => isThere(at) && !isThere(at - 1) && !isThere(at + 1));
}

function indexAt(plot: uPlot, { starts, lengthMs }: Columns, left: number): number {
  const time = 1_000 * plot.posToVal(left, 'x');
  return Math.floor((time - (starts[0] ?? 0)) / lengthMs);
}

const hours = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' });

function valueTexts(values: readonly number[], format: (value: number) => string): string[] {
  const texts = values.map((value) => format(value));
  if (texts.every(({ length }) => length <= MOST_CHARACTERS)) return texts;
  return values.map((value) => formatCompact(value));
}

/** The hour, or the day where one begins; once, where the chart has several lines in a minute. */
function timeTexts(times: readonly number[], lengthMs: number): string[] {
  const texts = times.map((time) => {
    const at = new Date(1_000 * time);
    const isDay = lengthMs >= 86_400_000 || (at.getHours() === 0 && at.getMinutes() === 0);
    return isDay ? formatDay(at) : hours.format(at);
  });
  return texts.map((text, i) => (text === texts[i - 1] ? '' : text));
}

/** The page's colours by the current style sheet. */
function colorsOf(element: HTMLElement) {
  const own = getComputedStyle(element);
  const probe = document.createElement('span');
  element.append(probe);
  const series = Array.from({ length: 6 }, (_, i) => {
    probe.className = styles[`series${i + 1}`] ?? '';
    return getComputedStyle(probe).color;
  });
  probe.remove();
  return { text: own.color, line: own.borderTopColor, surface: own.backgroundColor, series };
}
