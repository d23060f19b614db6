/** Of WCAG 2.2 for text; what has it serves for borders and controls as well. */
const CONTRAST = 4.5;
const STEPS = 100;

type Rgb = readonly [number, number, number];

const WHITE: Rgb = [255, 255, 255];
const BLACK: Rgb = [0, 0, 0];

export interface Accent {
  readonly color: string;
  /** The colour of text on it. */
  readonly on: string;
}

/**
 * A colour near `color` that can be read on `background`: darkened on a light one and lightened on a dark one, as far as
 * needed. Undefined for what is no `#rrggbb`.
 */
export function accentOn(background: string, color: string): Accent | undefined {
  const [base, wanted] = [parse(background), parse(color)];
  if (!base || !wanted) return undefined;
  const towards = luminance(base) > 0.5 ? BLACK : WHITE;
  for (let step = 0; step <= STEPS; step += 1) {
    const mixed = mix(wanted, towards, step / STEPS);
    if (contrast(mixed, base) < CONTRAST) continue;
    return { color: format(mixed), on: format(contrast(mixed, WHITE) >= CONTRAST ? WHITE : BLACK) };
  }
  return { color: format(towards), on: format(base) };
}

export function contrast(a: Rgb, b: Rgb): number {
  const [high = 0, low = 0] = [luminance(a), luminance(b)].toSorted((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

/** https://www.w3.org/TR/WCAG22/#dfn-relative-luminance */
function luminance(color: Rgb): number {
  const [red = 0, green = 0, blue = 0] = color.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function mix(from: Rgb, to: Rgb, share: number): Rgb {
  const at = (index: 0 | 1 | 2) => Math.round(from[index] + (to[index] - from[index]) * share);
  return [at(0), at(1), at(2)];
}

export function parse(color: string): Rgb | undefined {
  const [, red, green, blue] = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(color) ?? [];
  if (red === undefined || green === undefined || blue === undefined) return undefined;
  return [Number.parseInt(red, 16), Number.parseInt(green, 16), Number.parseInt(blue, 16)];
}

const format = (color: Rgb) => `#${color.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
