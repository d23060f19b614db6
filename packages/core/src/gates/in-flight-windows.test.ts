import { InFlightWindows } from './in-flight-windows';

const HERE = 'wh_here';
const THERE = 'wh_there';

/** No patience: whoever finds no place is told so within this turn of the event loop or the next. */
function buildWindows(
  change: Partial<ConstructorParameters<typeof InFlightWindows>[0]> = {},
): InFlightWindows {
  return new InFlightWindows({ maxSize: 16, patienceMs: 0, ...change });
}

async function enterTimes(windows: InFlightWindows, times: number, isFailing = false): Promise<boolean[]> {
  return await Promise.all(Array.from({ length: times }, () => windows.enter(HERE, isFailing)));
}

it('gives a stranger two places, and one that is failing a single one', async () => {
  expect(await enterTimes(buildWindows(), 4)).toEqual([true, true, false, false]);
  expect(await enterTimes(buildWindows(), 3, true)).toEqual([true, false, false]);
});

it('keeps endpoints apart', async () => {
  const windows = buildWindows();
  await enterTimes(windows, 2);
  expect(await windows.enter(THERE, false)).toBe(true);
});

it('doubles the places with each success, up to the most that there are', async () => {
  const windows = buildWindows({ maxSize: 6 });
  await enterTimes(windows, 2);
  windows.leave(HERE, 'succeeded');
  expect(windows.freePlaces(HERE)).toBe(3);
  await windows.enter(HERE, false);
  windows.leave(HERE, 'succeeded');
  expect(windows.freePlaces(HERE)).toBe(5);
});

it('halves them with each failure, and leaves one', async () => {
  const windows = buildWindows();
  await enterTimes(windows, 2);
  windows.leave(HERE, 'failed');
  expect(windows.freePlaces(HERE)).toBe(0);
});

it('leaves their number as it is when a place was not used', async () => {
  const windows = buildWindows();
  await enterTimes(windows, 2);
  windows.leave(HERE, 'unused');
  expect(windows.freePlaces(HERE)).toBe(1);
});

it('lets those that wait in as others leave, in their order', async () => {
  const windows = buildWindows({ patienceMs: 60_000 });
  await enterTimes(windows, 2);
  const order: number[] = [];
  const waiting = [1, 2, 3].map(async (number) => {
    await windows.enter(HERE, false);
    order.push(number);
  });
  windows.leave(HERE, 'succeeded');
  windows.leave(HERE, 'succeeded');
  await Promise.all(waiting);
  expect(order).toEqual([1, 2, 3]);
});

it('does not count one that ran out of patience', async () => {
  const windows = buildWindows();
  await enterTimes(windows, 5);
  windows.leave(HERE, 'failed');
  windows.leave(HERE, 'failed');
  expect(await enterTimes(windows, 3)).toEqual([true, true, false]);
});

it('starts anew with an endpoint that has had nothing under way', async () => {
  const windows = buildWindows();
  await windows.enter(HERE, false);
  windows.leave(HERE, 'succeeded');
  expect(windows.freePlaces(HERE)).toBe(2);
});

it('tells at once whether there is a place, to whoever does not wait for one', () => {
  const windows = new InFlightWindows({ maxSize: 1, patienceMs: 60_000 });
  expect(windows.enterAtOnce('wh_1', false)).toBe(true);
  expect(windows.enterAtOnce('wh_1', false)).toBe(false);
  windows.leave('wh_1', 'unused');
  expect(windows.enterAtOnce('wh_1', false)).toBe(true);
});
