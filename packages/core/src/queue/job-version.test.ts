import { versionOfJob } from './job-version';

it.each([
  [{ account_id: 'acme' }, 1],
  [{ v: 1 }, 1],
  [{ v: 2, account_id: 'acme' }, 2],
  [{ v: 'two' }, 1],
  [{ v: 0 }, 1],
  [{ v: 1.5 }, 1],
  [[2], 1],
  ['v', 1],
  [null, 1],
  [undefined, 1],
])('of %j is %i', (data, version) => {
  expect(versionOfJob(data)).toBe(version);
});
