import { uniqueEndpointId } from '../testing/unique-ids';
import { Backlog, MOST_A_SECOND } from './backlog';
import type { Change } from './change';

const change: Change = { kind: 'webhook', change: 'updated', endpointId: uniqueEndpointId() };
const RESET: Change = { kind: 'reset' };
const changes = (count: number) => Array.from({ length: count }, () => change);

it('gives what was added, once', () => {
  const backlog = new Backlog();
  backlog.add([change, change], 0);
  expect(backlog.isEmpty).toBe(false);
  expect(backlog.take(0)).toEqual([change, change]);
  expect(backlog.take(0)).toEqual([]);
  expect(backlog.isEmpty).toBe(true);
});

it('holds no more than it may in a second, and says with the next one that something is missing', () => {
  const backlog = new Backlog();
  for (let i = 0; i < 10; i += 1) backlog.add(changes(MOST_A_SECOND / 4), 100);
  expect(backlog.take(200)).toHaveLength(MOST_A_SECOND);
  // Later on in the same second nothing is told, not even that.
  backlog.add([change], 900);
  expect(backlog.take(1_000)).toEqual([]);
  expect(backlog.isEmpty).toBe(false);
  expect(backlog.take(1_100)).toEqual([RESET]);
  backlog.add([change], 1_200);
  expect(backlog.take(1_200)).toEqual([change]);
});

it('holds no more than that while nothing can be written, however long that is', () => {
  const backlog = new Backlog();
  for (let now = 0; now < 60_000; now += 1_000) backlog.add(changes(MOST_A_SECOND), now);
  expect(backlog.take(60_000)).toEqual([...changes(MOST_A_SECOND), RESET]);
});

it('says that something could not be written, once', () => {
  const backlog = new Backlog();
  backlog.miss();
  expect(backlog.take(0)).toEqual([RESET]);
  expect(backlog.take(0)).toEqual([]);
});
