import { isKnownFilter, matchesType } from './event-filter';

describe('matchesType', () => {
  it.each([
    ['*', 'keyword.quick_win', true],
    ['keyword.quick_win', 'keyword.quick_win', true],
    ['keyword.*', 'keyword.quick_win', true],
    ['keyword.*', 'keyword.rank.lost', true],
    ['keyword.*', 'keywords.lost', false],
    ['keyword.*', 'keyword', false],
    ['keyword', 'keyword.quick_win', false],
    ['keyword.quick', 'keyword.quick_win', false],
    ['keyword.quick_win.*', 'keyword.quick_win', false],
    ['*.quick_win', 'keyword.quick_win', false],
    ['Keyword.*', 'keyword.quick_win', false],
    ['brief.*', 'keyword.quick_win', false],
    ['', 'keyword.quick_win', false],
    // What this service itself tells is for those who ask for it.
    ['*', 'webhook.disabled', false],
    ['webhook.disabled', 'webhook.disabled', true],
    ['webhook.*', 'webhook.disabled', true],
    ['*', 'delivery.exhausted', false],
    ['delivery.*', 'delivery.exhausted', true],
  ])('"%s" asks for %s: %s', (filter, type, matches) => {
    expect(matchesType(filter, type)).toBe(matches);
  });
});

describe('isKnownFilter', () => {
  const types = ['keyword.quick_win', 'brief.created'];

  it.each(['*', 'keyword.*', 'brief.*', 'brief.created'])('knows "%s"', (filter) => {
    expect(isKnownFilter(filter, types)).toBe(true);
  });

  it.each(['', '.*', '**', 'import.*', 'keyword', 'keyword.', 'keyword*', 'brief.deleted'])(
    'does not know "%s"',
    (filter) => {
      expect(isKnownFilter(filter, types)).toBe(false);
    },
  );
});
