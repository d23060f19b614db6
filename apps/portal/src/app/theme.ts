import { useEffect, useState } from 'react';
import type { SessionTheme } from '../session/session';
import { accentOn } from './accent';

// As in global.css: what the accent stands on.
const LIGHT_SURFACE = '#f6f8fa';
const DARK_SURFACE = '#22272e';

export type Mode = 'light' | 'dark' | 'system';

/** Puts the session's colour and light or dark on the page; gives the mode, and what changes it for this viewer. */
export function useTheme(theme: SessionTheme): readonly [Mode, (mode: Mode) => void] {
  const [chosen, setChosen] = useState<Mode>();
  const mode = chosen ?? theme.mode ?? 'system';

  useEffect(() => {
    document.documentElement.dataset['theme'] = mode;
  }, [mode]);

  useEffect(() => {
    setAccent('light', LIGHT_SURFACE, theme.color);
    setAccent('dark', DARK_SURFACE, theme.color);
  }, [theme.color]);

  return [mode, setChosen];
}

function setAccent(name: 'light' | 'dark', surface: string, color: string | undefined): void {
  const accent = color === undefined ? undefined : accentOn(surface, color);
  const { style } = document.documentElement;
  if (accent) {
    style.setProperty(`--accent-${name}`, accent.color);
    style.setProperty(`--on-accent-${name}`, accent.on);
  } else {
    style.removeProperty(`--accent-${name}`);
    style.removeProperty(`--on-accent-${name}`);
  }
}
