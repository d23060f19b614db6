import { boundChanges, changesBetween, hidden, plain, plainFields, plainUrl } from './field-changes';

it('names what differs, with the values that may be shown', () => {
  const before = { a: plain(1), b: plain([1, 2]), c: hidden('x'), gone: plain('g'), same: hidden('s') };
  const after = { a: plain(2), b: plain([1, 2]), c: hidden('y'), added: hidden('n'), same: hidden('s') };
  expect(changesBetween(before, after)).toEqual([
    { field: 'a', from: 1, to: 2 },
    { field: 'added' },
    { field: 'c' },
    { field: 'gone', from: 'g' },
  ]);
});

it('calls fields as they are called on the wire, and leaves out what is not set', () => {
  expect(Object.keys(plainFields({ rateLimit: 5, description: undefined }))).toEqual(['rate_limit']);
});

it.each([
  ['https://user:pass@h.example/p?q=1#f', 'https://h.example/p'],
  ['https://h.example:8443/a/b', 'https://h.example:8443/a/b'],
  ['no URL at all?q=1', undefined],
])('shows of the URL %s its origin and path', (url, shown) => {
  expect(plainUrl(url)).toEqual({ value: url, shown });
});

it('sees a change of a URL that it does not show', () => {
  const [before, after] = ['https://h.example/?token=a', 'https://h.example/?token=b'].map(plainUrl);
  if (!before || !after) throw new Error('no fields');
  expect(changesBetween({ url: before }, { url: after })).toEqual([
    { field: 'url', from: 'https://h.example/', to: 'https://h.example/' },
  ]);
});

it('cuts long values, and of many long ones keeps the names', () => {
  const long = 'x'.repeat(10_000);
  const [cut] = boundChanges([{ field: 'events', from: [], to: [long] }]);
  expect(cut).toEqual({ field: 'events', from: [], to: expect.stringMatching(/^\["x{510}…$/) });
  const many = Array.from({ length: 300 }, (_, i) => ({ field: `f${i}`, from: long, to: long }));
  const bounded = boundChanges(many);
  expect(bounded).toHaveLength(100);
  expect(bounded[0]).toEqual({ field: 'f0' });
  expect(JSON.stringify(bounded).length).toBeLessThan(4_200);
});
