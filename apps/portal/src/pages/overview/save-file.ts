import type { Series } from './columns';
import plotStyles from './plot.module.css';

/** Downloads a text as a file. */
export function saveText(name: string, text: string): void {
  save(name, new Blob([text], { type: 'text/csv;charset=utf-8' }));
}

interface Chart {
  readonly name: string;
  readonly title: string;
  readonly series: readonly Series[];
}

const HEAD = 28;
const LEGEND = 24;

/** Downloads a chart as it is drawn, with its title and its legend. */
export function saveChart(figure: HTMLElement | null, { name, title, series }: Chart): void {
  const drawn = figure?.querySelector('canvas');
  const place = figure?.querySelector(`.${plotStyles['plot']}`);
  if (!drawn || !place) return;
  const scale = window.devicePixelRatio;
  const canvas = document.createElement('canvas');
  canvas.width = drawn.width;
  canvas.height = drawn.height + (HEAD + LEGEND) * scale;
  const pen = canvas.getContext('2d');
  if (!pen) return;
  const { backgroundColor, color } = getComputedStyle(place);
  pen.fillStyle = backgroundColor;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(drawn, 0, HEAD * scale);
  pen.scale(scale, scale);
  pen.fillStyle = color;
  pen.font = '600 14px system-ui, sans-serif';
  pen.fillText(title, 8, 18);
  drawLegend(pen, figure, series, drawn.height / scale + HEAD + 14);
  canvas.toBlob((png) => png && save(name, png));
}

function drawLegend(
  pen: CanvasRenderingContext2D,
  figure: HTMLElement | null,
  series: readonly Series[],
  top: number,
): void {
  const text = pen.fillStyle;
  pen.font = '12px system-ui, sans-serif';
  let left = 8;
  for (const { label, color } of series) {
    const swatch = figure?.querySelector(`.${plotStyles[`series${color}`]}`);
    pen.fillStyle = swatch ? getComputedStyle(swatch).color : text;
    pen.fillRect(left, top - 9, 10, 10);
    pen.fillStyle = text;
    pen.fillText(label, left + 14, top);
    left += 14 + pen.measureText(label).width + 16;
  }
}

function save(name: string, blob: Blob): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
