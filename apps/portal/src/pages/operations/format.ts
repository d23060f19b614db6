const counts = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

export const formatCount = (count: number) => counts.format(count);

/** Such as `0.3 s`, `12 s`, `3 min`, `2 h`, `5 d`. */
export function formatSeconds(seconds: number): string {
  if (seconds < 10) return `${counts.format(seconds)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${counts.format(Math.round(seconds / 86_400))} d`;
}

/** Such as `12 %`. */
export function formatShare(part: number, whole: number): string {
  const percent = whole === 0 ? 0 : (100 * part) / whole;
  return percent > 0 && percent < 1 ? '< 1 %' : `${Math.round(percent)} %`;
}
