import { t } from '@lingui/core/macro';
import { useEffect, useState } from 'react';

const SECOND_MS = 1_000;

/** Whole seconds until a time; 0 from then on. */
export function useCountdown(until: string): number {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), SECOND_MS);
    return () => clearInterval(timer);
  }, []);
  return Math.max(0, Math.ceil((new Date(until).getTime() - now.getTime()) / SECOND_MS));
}

const DAY_SECONDS = 86_400;

/** `3 d 4 h`, `1:02:03`, `2:03`: days and hours only where there are any. */
export function formatCountdown(seconds: number): string {
  const days = Math.floor(seconds / DAY_SECONDS);
  const hours = Math.floor((seconds % DAY_SECONDS) / 3_600);
  if (days > 0) return t`${days} d ${hours} h`;
  const minutes = Math.floor((seconds % 3_600) / 60);
  const parts = hours > 0 ? [hours, padded(minutes)] : [minutes];
  return [...parts, padded(seconds % 60)].join(':');
}

const padded = (value: number) => String(value).padStart(2, '0');
