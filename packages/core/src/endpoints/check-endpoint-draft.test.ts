import { checkEndpointDraft } from './check-endpoint-draft';

const draft = { url: 'https://example.com/hook', events: ['*'] };

it('finds nothing wrong with what the service would take, whatever its settings', () => {
  const all = {
    ...draft,
    url: 'http://localhost:4000/hook',
    filter: { position: { lte: 10 } },
    retry_schedule: ['5s', '1m'],
    headers: { 'X-Team': 'a' },
  };
  expect(checkEndpointDraft(draft)).toEqual([]);
  expect(checkEndpointDraft(all)).toEqual([]);
});

it.each([
  [{ url: 'example.com' }, '/url', 'must be an absolute URL such as https://example.com/webhooks'],
  [{ url: 'https://me:secret@example.com' }, '/url', 'must not hold a user name or password'],
  [{ url: 'https://example.com:22' }, '/url', 'must not have port 22, which is not one for HTTP'],
  [{ events: [] }, '/events', 'must name at least one event type'],
  [{ max_concurrency: 1_001 }, '/max_concurrency', 'must be at most 1000'],
  [{ timeout_ms: 2.5 }, '/timeout_ms', 'must be a whole number'],
  [
    { retry_schedule: ['5s', 'soon'] },
    '/retry_schedule/1',
    'must be a duration such as 250ms, 15s, 5m, 2h or 3d',
  ],
  [{ filter: { position: { lte: '10' } } }, '/filter/position/lte', 'must be a number: 10, without quotes'],
])('finds what is wrong in %j', (change, pointer, detail) => {
  expect(checkEndpointDraft({ ...draft, ...change })).toEqual([{ pointer, detail }]);
});
