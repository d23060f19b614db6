import { nearestTo } from './nearest';

const KNOWN = ['url', 'events', 'description', 'rate_limit', 'webhook_ids'];

it.each([
  ['urls', 'url'],
  ['URL', 'url'],
  ['event', 'events'],
  ['rateLimit', 'rate_limit'],
  ['webhook_id', 'webhook_ids'],
  ['descripton', 'description'],
])('takes %s for %s', (name, meant) => {
  expect(nearestTo(name, KNOWN)).toBe(meant);
});

it.each(['', 'secret', 'x', 'constructor', 'y'.repeat(10_000)])('takes %.20s for none of them', (name) => {
  expect(nearestTo(name, KNOWN)).toBeUndefined();
});
