import { startTestApi, type TestApi } from '../testing/start-test-api';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ SOURCE_ADDRESSES: '203.0.113.0/28, 2001:db8::/48' });
});
afterAll(() => api.close());

it('tells anybody where deliveries come from', async () => {
  const response = await fetch(`${api.url}/v1/source-addresses`);
  expect(response.status).toBe(200);
  expect(response.headers.get('cache-control')).toBe('public, max-age=3600');
  expect(await response.json()).toEqual({
    data: ['203.0.113.0/28', '2001:db8::/48'],
    next_cursor: null,
    has_more: false,
  });
});

it('takes no notice of a key that is wrong', async () => {
  const response = await fetch(`${api.url}/v1/source-addresses`, {
    headers: { authorization: 'Bearer whk_wrong' },
  });
  expect(response.status).toBe(200);
});
