export const WIDTH = 96;
export const HEIGHT = 24;
// A line stays inside with its width at the top and at the bottom.
const MARGIN = 2;

type Place = readonly [x: number, y: number];

/** Where the values are; what was not measured is left out. */
export function placesOf(values: readonly (number | null)[], top: number): readonly Place[] {
  const step = values.length > 1 ? (WIDTH - 2 * MARGIN) / (values.length - 1) : 0;
  return values.flatMap((value, index) => {
    if (value === null) return [];
    const y = HEIGHT - MARGIN - (Math.min(value, top) / top) * (HEIGHT - 2 * MARGIN);
    return [[round(MARGIN + index * step), round(y)] as const];
  });
}

/** A line through all of them, over the gaps between them. */
export function pathOf(places: readonly Place[]): string {
  return places.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${x} ${y}`).join('');
}

const round = (value: number) => Math.round(value * 10) / 10;
