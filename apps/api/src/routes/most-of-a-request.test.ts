import { keywordQuickWin } from '@hookferry/core/event-types/built-in';
import request from 'supertest';
import { startTestApi, type TestApi } from '../testing/start-test-api';

let api: TestApi;
let key: string;
beforeAll(async () => {
  api = await startTestApi({ MAX_EVENT_BYTES: '65536' });
  ({ key } = await api.issueKey());
});
afterAll(() => api.close());

const many = (count: number) => Array.from({ length: count }, (_, i) => `crm-${i}`);
const event = { type: keywordQuickWin.name, data: keywordQuickWin.example };

// Each is looked at before the webhook is, so that none has to be there.
it.each([
  [
    'webhooks that an event is aimed at',
    '/webhook_ids',
    'post',
    '/v1/events',
    { ...event, webhook_ids: many(101) },
  ],
  ['entries of a page', '?/limit', 'get', '/v1/webhooks?limit=201', undefined],
  ['events of a batch', '/events', 'post', '/v1/events/batch', { events: Array(501).fill(event) }],
  [
    'events a second of a replay',
    '/rate',
    'post',
    '/v1/webhooks/crm/replays',
    { since: '2026-11-20T00:00:00Z', mode: 'all', rate: 1_001 },
  ],
  [
    'members of metadata',
    '/metadata',
    'post',
    '/v1/webhooks',
    {
      url: 'https://receiver.example.com/',
      events: ['*'],
      metadata: Object.fromEntries(many(51).map((name) => [name, ''])),
    },
  ],
] as const)('refuses one more than the most of the %s', async (_what, pointer, method, path, body) => {
  const response = await request(api.url)[method](path).set('authorization', `Bearer ${key}`).send(body);
  expect({ status: response.status, body: response.body as unknown }).toMatchObject({
    status: 422,
    body: { code: 'invalid_request', errors: [{ pointer, detail: expect.stringContaining('at most') }] },
  });
});
