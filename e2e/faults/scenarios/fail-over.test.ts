import type { InjectedFault } from '../ledger';
import { withUnasked } from './fail-over';

const strike = (startedAt: number, endedAt: number): InjectedFault => ({
  kind: 'sentinel-flap',
  victim: 'Redis',
  mayRepeat: true,
  startedAt,
  endedAt,
});

it('counts a fail-over that nobody asked for as a strike of its own, within another one too, and no other', () => {
  const strikes = [strike(1_000, 9_000), strike(20_000, 29_000)];
  const asked = [
    { startedAt: 1_100, endedAt: 4_000 },
    { startedAt: 20_100, endedAt: 24_000 },
  ];
  expect(withUnasked(strikes, asked)).toEqual(strikes);
  const unasked = [
    { startedAt: 5_000, endedAt: 8_000 },
    { startedAt: 12_000, endedAt: 15_000 },
  ];
  const all = withUnasked(
    strikes,
    [...asked, ...unasked].toSorted((a, b) => a.endedAt - b.endedAt),
  );
  expect(all.slice(2)).toMatchObject(
    unasked.map((one) => ({ ...one, mayRepeat: true, isFurtherStrike: true })),
  );
  expect(all).toHaveLength(4);
});
