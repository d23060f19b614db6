import { type Findings, visit } from './explore';
import { type LineBounds, type LineRule, linesOfOne } from './lines';

const ALL: LineBounds = { coalesces: false, faults: 1 };
const NEWEST: LineBounds = { coalesces: true, faults: 1 };

it('sends each line in its order beside the other, one at a time, and loses none', () => {
  const { sightings, violations } = explored(ALL);
  expect(violations).toEqual({});
  expect([...sightings.keys()]).toEqual(
    expect.arrayContaining(['two lines at once', 'a line that is held for another one', 'all delivered']),
  );
});

it('sends the newest of a line in place of older ones, never before it may go, and none after it', () => {
  const { sightings, violations } = explored(NEWEST);
  expect(violations).toEqual({});
  expect([...sightings.keys()]).toEqual(
    expect.arrayContaining([
      'one that is superseded',
      'a line that is held for another one',
      'all delivered',
    ]),
  );
});

it.each<[LineRule, LineBounds, string]>([
  [
    'one begins only if it still is the first, or the newest',
    ALL,
    'a request after that of a newer one of its line',
  ],
  ['a wake-up leaves a line alone that a worker has', ALL, 'stuck'],
  ['an older event on its queue is waited for', ALL, 'a request after that of a newer one of its line'],
  ['an older event on its queue is waited for', NEWEST, 'a request after that of a newer one of its line'],
  [
    'the last one that was sent is known as long as others are there',
    NEWEST,
    'a request after that of a newer one of its line',
  ],
  [
    'what was sent in place of others counts whatever the settings are by then',
    NEWEST,
    'a request after that of a newer one of its line',
  ],
])('relies on this: %s', (without, bounds, seen) => {
  const { violations } = explored(bounds, without);
  expect(Object.keys(violations)).toContain(seen);
});

function explored(bounds: LineBounds, without?: LineRule): Findings {
  const kind = bounds.coalesces ? 'lines, the newest alone' : 'lines';
  const name = without === undefined ? kind : `${kind}, without this: ${without}`;
  return visit(name, linesOfOne({ bounds, ...(without && { without }) }));
}
