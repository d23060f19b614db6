import { WaitingLine } from './waiting-line';

const PATIENCE_MS = 250;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** A line, and what it has told those in it: `1:place`, in the order in which they got to know. */
function arrange() {
  const line = new WaitingLine(PATIENCE_MS);
  const told: string[] = [];
  return {
    line,
    told,
    join(name: string, wasHeld = false): void {
      void line.join(wasHeld).then((hasPlace) => told.push(`${name}:${hasPlace ? 'place' : 'none'}`));
    },
    pass: async (ms: number) => await jest.advanceTimersByTimeAsync(ms),
  };
}

it('gives places in the order in which they came, to those that were held before to those that were not', async () => {
  const { line, join, told, pass } = arrange();
  join('new');
  join('newer');
  join('held', true);
  join('held later', true);
  for (let i = 0; i < 4; i += 1) expect(line.move()).toBe(true);
  await pass(0);
  expect(told).toEqual(['held:place', 'held later:place', 'new:place', 'newer:place']);
  expect(line.move()).toBe(false);
});

it('keeps them for as long as places come free, however long that takes', async () => {
  const { line, join, told, pass } = arrange();
  for (let i = 0; i < 20; i += 1) join(String(i));
  for (let i = 0; i < 20; i += 1) {
    await pass(PATIENCE_MS - 1);
    expect(told).toHaveLength(i);
    line.move();
  }
  await pass(0);
  expect(told.every((each) => each.endsWith(':place'))).toBe(true);
});

it('sends them away when none has come free for a while', async () => {
  const { line, join, told, pass } = arrange();
  join('one');
  join('two');
  await pass(PATIENCE_MS - 1);
  expect(told).toEqual([]);
  await pass(2);
  expect(told).toEqual(['one:none', 'two:none']);
  expect(line.length).toBe(0);
});

it('lets nobody wait then who comes for the first time, until a place has come free', async () => {
  const { line, join, told, pass } = arrange();
  join('one');
  await pass(PATIENCE_MS + 1);
  join('two');
  await pass(0);
  expect(told).toEqual(['one:none', 'two:none']);
  expect(line.move()).toBe(false);
  join('three');
  await pass(0);
  expect(line.length).toBe(1);
});

it('has more patience with those that were held', async () => {
  const { join, told, pass } = arrange();
  join('new');
  join('held', true);
  await pass(PATIENCE_MS + 1);
  expect(told).toEqual(['new:none']);
  await pass(3 * PATIENCE_MS + 3);
  expect(told).toEqual(['new:none', 'held:none']);
});

it('counts what came while the process stood still', async () => {
  const { line, join, told, pass } = arrange();
  join('one');
  join('two');
  // The timer goes off first after a stand-still, and what has come meanwhile is heard of after it.
  setTimeout(() => line.move(), PATIENCE_MS);
  await pass(PATIENCE_MS + 1);
  expect(told).toEqual(['one:place']);
  expect(line.length).toBe(1);
});
