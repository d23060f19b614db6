import { Button } from '../components/button';
import type { Mode } from './theme';

const NEXT: Readonly<Record<Mode, Mode>> = { system: 'light', light: 'dark', dark: 'system' };
const SIGNS: Readonly<Record<Mode, string>> = { system: '◐', light: '☀', dark: '☾' };

interface ThemeSwitchProps {
  readonly mode: Mode;
  readonly onChange: (mode: Mode) => void;
}

export function ThemeSwitch({ mode, onChange }: ThemeSwitchProps) {
  const label = `Colours: ${mode}. Change to ${NEXT[mode]}`;
  return (
    <Button kind="quiet" size="small" aria-label={label} title={label} onClick={() => onChange(NEXT[mode])}>
      <span aria-hidden="true">{SIGNS[mode]}</span>
    </Button>
  );
}
