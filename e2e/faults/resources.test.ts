import { compare, type Resources } from './resources';

const MIB = 1024 * 1024;
const base: Resources = {
  processes: new Map([['worker A', { residentBytes: 100 * MIB, descriptors: 40 }]]),
  redisBytes: 2 * MIB,
};
const empty = { published: new Map(), recorded: [] };
const after = (residentMib: number, descriptors: number, redisMib: number): Resources => ({
  processes: new Map([['worker B', { residentBytes: residentMib * MIB, descriptors }]]),
  redisBytes: redisMib * MIB,
});
const checksOf = (now: Resources, ledger: Parameters<typeof compare>[2] = empty) =>
  compare(base, now, ledger).map(({ check }) => check);

it('finds nothing when all is near to where it was', () => {
  expect(checksOf(after(180, 90, 5))).toEqual([]);
});

it.each([
  ['memory was not released', after(600, 40, 2)],
  ['file descriptors were not released', after(100, 2_000, 2)],
  ['Redis stores more than the records need', after(100, 40, 200)],
])('finds: %s', (check, now) => {
  expect(checksOf(now)).toEqual([check]);
});

it('lets Redis keep what is on record', () => {
  const record = { endpoint: 'one', eventId: 'evt_1', status: 'delivered', attemptCount: 1 };
  const recorded = Array.from({ length: 250_000 }, () => record);
  expect(checksOf(after(100, 40, 200), { ...empty, recorded })).toEqual([]);
});
