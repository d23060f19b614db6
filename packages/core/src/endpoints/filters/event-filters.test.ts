import { catalogue } from '../../accounts/event-types/built-in';
import { isKnownFilter, matchesType, requireKnownFilters } from './event-filters';

describe('event filter', () => {
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
});

describe('require known filters', () => {
  const builtInNames = catalogue.map(({ name }) => name);
  const context = { eventTypeStore: { builtInNames, names: async () => ['order.paid', 'invoice.paid'] } };

  it.each(['*', 'keyword.*', 'webhook.disabled', 'invoice.paid', 'order.*'])('knows %s', async (filter) => {
    await expect(requireKnownFilters(context, [filter])).resolves.toBeUndefined();
  });

  it('asks nobody about what is built in', async () => {
    const alone = { eventTypeStore: { builtInNames, names: () => Promise.reject(new Error('Asked.')) } };
    await expect(requireKnownFilters(alone, ['brief.*', '*'])).resolves.toBeUndefined();
  });

  it('points to each filter that matches no type, and lists the known types', async () => {
    const detailOf = (filter: string, hint = '') =>
      `"${filter}" is not a known event type${hint}; the known ones are ` +
      `${['invoice.paid', 'order.paid', ...builtInNames].join(', ')}, ` +
      'a prefix of them such as order.*, or * for all';
    await expect(
      requireKnownFilters(context, ['keyword.lost', '*', 'brief', 'order.piad']),
    ).rejects.toMatchObject({
      code: 'invalid_request',
      validationErrors: [
        { pointer: '/events/0', detail: detailOf('keyword.lost') },
        { pointer: '/events/2', detail: detailOf('brief') },
        { pointer: '/events/3', detail: detailOf('order.piad', ' (did you mean "order.paid"?)') },
      ],
    });
  });
});
