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

/** The backgrounds and lines of a page; their names are those in global.css. */
export interface Surfaces {
  readonly surface: string;
  readonly 'surface-sunken': string;
  readonly 'surface-hover': string;
  readonly border: string;
  readonly 'border-strong': string;
}

export type Scheme = 'light' | 'dark';

// As in global.css: the text that stands out least, and the one that stands out most.
const QUIET_TEXT: Readonly<Record<Scheme, Rgb>> = { light: [98, 108, 120], dark: [147, 157, 171] };
const TEXT: Readonly<Record<Scheme, Rgb>> = { light: [22, 25, 29], dark: [232, 235, 239] };
const FAR: Readonly<Record<Scheme, Rgb>> = { light: WHITE, dark: BLACK };
/** Of WCAG 2.2 for the edges of controls. */
const EDGE_CONTRAST = 3;

/**
 * A background near `color` with its shades: lightened on a light page and darkened on a dark one, as far as needed for all
 * text of the page to be readable on each of them. Undefined for what is no `#rrggbb`.
 */
export function surfacesOf(scheme: Scheme, color: string): Surfaces | undefined {
  const wanted = parse(color);
  if (!wanted) return undefined;
  const text = TEXT[scheme];
  for (let step = 0; step <= STEPS; step += 1) {
    const surface = mix(wanted, FAR[scheme], step / STEPS);
    const [sunken, hover] = [mix(surface, text, 0.03), mix(surface, text, 0.04)];
    if (step < STEPS && contrast(QUIET_TEXT[scheme], hover) < CONTRAST) continue;
    return {
      surface: format(surface),
      'surface-sunken': format(sunken),
      'surface-hover': format(hover),
      border: format(mix(surface, text, 0.14)),
      'border-strong': format(edgeOn(sunken, text)),
    };
  }
  return undefined;
}

function edgeOn(surface: Rgb, text: Rgb): Rgb {
  for (let step = 0; step < STEPS; step += 1) {
    const edge = mix(surface, text, step / STEPS);
    if (contrast(edge, surface) >= EDGE_CONTRAST) return edge;
  }
  return text;
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
