import { useEffect, useState } from 'react';
import { useFrameView } from '../session/frame-context';
import type { SessionTheme } from '../session/session';
import { accentOn, type Scheme, surfacesOf } from './accent';

// As --surface-sunken in global.css: the accent stands on it.
const SUNKEN: Readonly<Record<Scheme, string>> = { light: '#f6f8fa', dark: '#22272e' };

export type Mode = 'light' | 'dark' | 'system';

/**
 * Puts the session's theme on the page. Gives the mode, and a function that changes it for this viewer: undefined if the page
 * around decides it.
 */
export function useTheme(theme: SessionTheme): readonly [Mode, ((mode: Mode) => void) | undefined] {
  const [chosen, setChosen] = useState<Mode>();
  const { mode: given } = useFrameView();
  const mode = given ?? chosen ?? theme.mode ?? 'system';

  useEffect(() => {
    document.documentElement.dataset['theme'] = mode;
  }, [mode]);

  const { color, color_dark: colorDark = color, surface, surface_dark: surfaceDark, font, radius } = theme;
  useEffect(() => setColors('light', surface, color), [surface, color]);
  useEffect(() => setColors('dark', surfaceDark, colorDark), [surfaceDark, colorDark]);
  useEffect(() => setVariable('font', font === undefined ? undefined : fontList(font)), [font]);
  useEffect(() => setVariable('radius', typeof radius === 'number' ? `${radius}px` : undefined), [radius]);

  return [mode, given === undefined ? setChosen : undefined];
}

function setColors(scheme: Scheme, surface: string | undefined, color: string | undefined): void {
  const surfaces = surface === undefined ? undefined : surfacesOf(scheme, surface);
  const accent =
    color === undefined ? undefined : accentOn(surfaces?.['surface-sunken'] ?? SUNKEN[scheme], color);
  for (const name of SURFACES) setVariable(`${name}-${scheme}`, surfaces?.[name]);
  setVariable(`accent-${scheme}`, accent?.color);
  setVariable(`on-accent-${scheme}`, accent?.on);
}

const SURFACES = ['surface', 'surface-sunken', 'surface-hover', 'border', 'border-strong'] as const;

// Those that style sheets know without quotes.
const GENERIC = /^(?:ui-)?(?:serif|sans-serif|monospace|rounded)$|^(?:system-ui|cursive|fantasy)$/;

// As the API takes them.
const FONT_NAME = /^[A-Za-z][A-Za-z0-9 -]*$/;

/** Each name in quotes, so that it is one whatever words it has. Undefined if one is not valid. */
function fontList(names: string): string | undefined {
  const list = names.split(',').map((name) => name.trim());
  if (!list.every((name) => FONT_NAME.test(name))) return undefined;
  return list.map((name) => (GENERIC.test(name) ? name : `"${name}"`)).join(', ');
}

/** By the object model of styles, which the page's policy lets its own program use. Undefined: as in global.css. */
function setVariable(name: string, value: string | undefined): void {
  const { style } = document.documentElement;
  if (value === undefined) style.removeProperty(`--${name}`);
  else style.setProperty(`--${name}`, value);
}
