export const WIDTH = 96;
export const HEIGHT = 24;
// A line stays inside with its width at the top and at the bottom.
const MARGIN = 2;
const DASH = 3;

/** A line through each run of values; a value between two gaps is a short dash. */
export function pathOf(values: readonly (number | null)[], top: number): string {
  const step = values.length > 1 ? (WIDTH - 2 * MARGIN) / (values.length - 1) : 0;
  return values
    .map((value, index) => {
      if (value === null) return '';
      const x = round(MARGIN + index * step);
      const y = round(HEIGHT - MARGIN - (Math.min(value, top) / top) * (HEIGHT - 2 * MARGIN));
      const isFirst = (values[index - 1] ?? null) === null;
      const isAlone = isFirst && (values[index + 1] ?? null) === null;
      if (isAlone) return `M${round(x - DASH / 2)} ${y}h${DASH}`;
      return `${isFirst ? 'M' : 'L'}${x} ${y}`;
    })
    .join('');
}

const round = (value: number) => Math.round(value * 10) / 10;
