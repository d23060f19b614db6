export const WIDTH = 96;
export const HEIGHT = 24;
// A line stays inside with its width at the top and at the bottom.
const MARGIN = 2;

/** A line through all values, over the gaps between them. A single value is a dot where it stands in time. */
export function pathOf(values: readonly (number | null)[], top: number): string {
  const step = values.length > 1 ? (WIDTH - 2 * MARGIN) / (values.length - 1) : 0;
  const places = values.flatMap((value, index) => {
    if (value === null) return [];
    const y = HEIGHT - MARGIN - (Math.min(value, top) / top) * (HEIGHT - 2 * MARGIN);
    return `${round(MARGIN + index * step)} ${round(y)}`;
  });
  // A line without a length is a dot, since its ends are round.
  return places.length === 1
    ? `M${places[0]}h0`
    : places.map((place, i) => `${i === 0 ? 'M' : 'L'}${place}`).join('');
}

const round = (value: number) => Math.round(value * 10) / 10;
