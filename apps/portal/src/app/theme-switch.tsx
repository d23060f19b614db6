import { t } from '@lingui/core/macro';
import type { Mode } from './theme';

const LABELS: Readonly<Record<Mode, string>> = {
  system: t`System theme`,
  light: t`Light theme`,
  dark: t`Dark theme`,
};

interface ThemeSwitchProps {
  readonly mode: Mode;
  readonly onChange: (mode: Mode) => void;
}

export function ThemeSwitch({ mode, onChange }: ThemeSwitchProps) {
  return (
    <select aria-label={t`Theme`} value={mode} onChange={({ target }) => onChange(target.value as Mode)}>
      {Object.entries(LABELS).map(([value, label]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
}
