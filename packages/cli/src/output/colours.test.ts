import { choosePaint, paintStatus } from './colours';

it('colours for people at a terminal who have not asked to be spared', () => {
  expect(paintStatus(choosePaint({ isTTY: true }, {}), 'failed')).toBe('\u001b[31mfailed\u001b[0m');
});

it.each([
  [{ isTTY: false }, {}],
  [{}, {}],
  [{ isTTY: true }, { NO_COLOR: '1' }],
  [{ isTTY: true }, { TERM: 'dumb' }],
])('does not colour for %p with %p', (stream, environment) => {
  expect(choosePaint(stream, environment)('red', 'plain')).toBe('plain');
});
