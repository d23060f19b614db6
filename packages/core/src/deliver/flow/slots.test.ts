import { LONG_TURN_MS, measureTurn, SLOW_AFTER_MS, type Slot, Slots } from './slots';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

function arrange({ quick = 2, slow = 2 } = {}) {
  const capacities: number[] = [];
  let turnMs = 0;
  const slots = new Slots({
    quick,
    slow,
    onCapacity: (capacity) => capacities.push(capacity),
    clock: () => performance.now(),
    measureTurn: (onMeasured) => onMeasured(turnMs),
  });
  return {
    slots,
    capacities,
    /** The event loop has so much to do for one turn when it is looked at next. */
    beBusy(ms: number) {
      turnMs = ms;
      jest.advanceTimersByTime(50);
    },
  };
}

it('counts an attempt that has been under way for a while as slow, and lets one more begin in its place', () => {
  const { slots, capacities } = arrange();
  slots.take('quick');
  expect(slots.capacity).toBe(2);
  jest.advanceTimersByTime(SLOW_AFTER_MS + 100);
  expect(slots.capacity).toBe(3);
  expect(capacities).toEqual([3]);
});

it('does so for the oldest first, and for as long as there is room among the slow ones', () => {
  const { slots } = arrange({ quick: 4, slow: 2 });
  const taken = [1, 2, 3].map(() => slots.take('quick'));
  jest.advanceTimersByTime(SLOW_AFTER_MS + 100);
  expect(taken.map(({ isSlow }) => isSlow)).toEqual([true, true, false]);
  expect(slots.hasRoomForSlow).toBe(false);
});

it('takes one more as slow when a slow one leaves', () => {
  const { slots } = arrange({ quick: 4, slow: 1 });
  const [first, second] = [slots.take('quick'), slots.take('quick')];
  jest.advanceTimersByTime(SLOW_AFTER_MS + 100);
  slots.leave(first);
  expect(second.isSlow).toBe(false);
  jest.advanceTimersByTime(100);
  expect(second.isSlow).toBe(true);
});

it('counts one that is known to be slow at once, and has its room back when it leaves', () => {
  const { slots, capacities } = arrange();
  const slot = slots.take('slow');
  expect(slot.isSlow).toBe(true);
  slots.leave(slot);
  expect(capacities).toEqual([3, 2]);
  expect(slots.hasRoomForSlow).toBe(true);
});

it('leaves those alone that end soon', () => {
  const { slots, capacities } = arrange();
  const slot = slots.take('quick');
  jest.advanceTimersByTime(SLOW_AFTER_MS - 100);
  slots.leave(slot);
  jest.advanceTimersByTime(10 * SLOW_AFTER_MS);
  expect(capacities).toEqual([]);
});

it('has no timer left when nothing is under way', () => {
  const { slots } = arrange();
  slots.leave(slots.take('quick'));
  slots.leave(slots.take('slow'));
  jest.advanceTimersByTime(SLOW_AFTER_MS);
  expect(jest.getTimerCount()).toBe(0);
});

it('checks seldom while few attempts are under way, and soon when more begin', () => {
  const setTimer = jest.spyOn(globalThis, 'setTimeout');
  const { slots } = arrange({ quick: 32 });
  slots.take('quick');
  slots.take('quick');
  expect(setTimer.mock.calls.map(([, ms]) => ms)).toEqual([SLOW_AFTER_MS]);
  slots.take('quick');
  slots.take('quick');
  expect(setTimer.mock.calls.map(([, ms]) => ms)).toEqual([SLOW_AFTER_MS, 50]);
});

describe('a process that is late', () => {
  it('takes fewer at once, down to a sixteenth, and more again when it keeps up', () => {
    const { slots, capacities, beBusy } = arrange({ quick: 256, slow: 0 });
    let taken: Slot[] = [];
    const takeTurn = (ms: number) => {
      for (const slot of taken) slots.leave(slot);
      taken = Array.from({ length: 17 }, () => slots.take('quick'));
      beBusy(ms);
    };
    takeTurn(30);
    expect(slots.capacity).toBe(179);
    for (let i = 0; i < 10; i += 1) takeTurn(30);
    expect(slots.capacity).toBe(16);
    for (let i = 0; i < 4; i += 1) takeTurn(0);
    expect(slots.capacity).toBe(80);
    for (let i = 0; i < 20; i += 1) takeTurn(0);
    expect(slots.capacity).toBe(256);
    expect(capacities.slice(-2)).toEqual([240, 256]);
  });

  it('takes as many beside hanging ones as without them, as long as there are slots', () => {
    const { slots, beBusy } = arrange({ quick: 32, slow: 4 });
    for (let i = 0; i < 20; i += 1) slots.take('quick');
    for (let i = 0; i < 20; i += 1) beBusy(30);
    // Four are slow, sixteen would be; eight more may begin.
    expect(slots.capacity).toBe(4 + 16 + 8);
    for (let i = 0; i < 12; i += 1) slots.take('quick');
    for (let i = 0; i < 10; i += 1) beBusy(30);
    expect(slots.capacity).toBe(4 + 32);
  });

  it('takes eight at least, however few slots there are', () => {
    const { slots, beBusy } = arrange({ quick: 16, slow: 0 });
    const slot = slots.take('quick');
    beBusy(1_000);
    slots.leave(slot);
    for (let i = 0; i < 10; i += 1) {
      const other = slots.take('quick');
      beBusy(30);
      slots.leave(other);
    }
    expect(slots.pace).toBe(1 / 2);
  });

  it('has no fewer for receivers that take their time, which keep no processor busy', () => {
    const { slots, beBusy } = arrange({ quick: 64, slow: 0 });
    const patient = Array.from({ length: 40 }, () => slots.take('patient'));
    for (let i = 0; i < 20; i += 1) beBusy(30);
    expect(slots.capacity).toBe(40 + 8);
    for (const slot of patient) slots.leave(slot);
    expect(slots.capacity).toBe(8);
  });

  it.each([
    ['a sixteenth of the slots', 32, 29],
    ['one of eight', 8, 6],
  ])('leaves %s idle for who comes next', (_what, quick, taken) => {
    const { slots } = arrange({ quick, slow: 4 });
    for (let i = 0; i < taken; i += 1) slots.take('quick');
    expect(slots.spare).toBe(1);
    slots.take('quick');
    expect(slots.spare).toBe(0);
  });

  it('has some to spare only while half of the slow slots are free', () => {
    const { slots } = arrange({ quick: 16, slow: 4 });
    for (let i = 0; i < 2; i += 1) slots.take('slow');
    expect(slots.spare).toBe(15);
    slots.take('slow');
    expect(slots.spare).toBe(0);
  });

  it('is not taken for late because nothing was under way for a while', () => {
    const { slots } = arrange({ quick: 64 });
    slots.leave(slots.take('quick'));
    jest.advanceTimersByTime(60_000);
    slots.leave(slots.take('quick'));
    jest.advanceTimersByTime(60_000);
    expect(slots.pace).toBe(1);
  });
});

describe('what a turn of the event loop takes', () => {
  beforeEach(() => jest.useRealTimers());

  const measured = () => new Promise<number>((resolve) => measureTurn(resolve));

  it('is next to nothing while there is nothing to do', async () => {
    // Others may have the processor in the middle of one turn, not in all of them.
    const turns = [];
    for (let i = 0; i < 20; i += 1) turns.push(await measured());
    expect(Math.min(...turns)).toBeLessThan(LONG_TURN_MS);
  });

  it('is what this process has to do, turn after turn', async () => {
    let isBusy = true;
    const beBusy = () => {
      const until = process.cpuUsage().user + 3 * LONG_TURN_MS * 1_000;
      while (process.cpuUsage().user < until);
      if (isBusy) setImmediate(beBusy);
    };
    setImmediate(beBusy);
    const took = await measured();
    isBusy = false;
    expect(took).toBeGreaterThan(LONG_TURN_MS);
  });
});
