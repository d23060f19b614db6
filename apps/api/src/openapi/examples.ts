import { catalogue } from '@hookferry/core/catalogue/built-in/index';

const [first, ...others] = catalogue.map(({ name, example }) => ({ type: name, data: example }));

/** For each operation that takes a body one that it takes as it stands. */
export const requestExamples: Readonly<Record<string, unknown>> = {
  createWebhook: {
    url: 'https://example.com/webhooks',
    events: ['keyword.*', 'brief.created'],
    description: 'Keywords for the dashboard',
  },
  updateWebhook: { events: ['*'], rate_limit: 50, description: null },
  rotateWebhookSecret: { overlap_seconds: 86_400 },
  testWebhook: { type: first?.type },
  tryFilter: { filter: { position: { lte: 10 } }, event_type: first?.type },
  createListener: { name: 'my-laptop', events: ['keyword.*'], ordering: 'strict' },
  answerListener: {
    stream: '9f3c1b0e-5a53-4c4c-9a0e-0d5f7b1f2a11',
    answers: [{ exchange: '1', status: 204 }],
  },
  createReplay: { since: '2026-01-01T00:00:00Z', mode: 'failed', rate: 50 },
  publishEvent: first,
  publishBatch: { events: [{ ...first, id: 'quick-win-4711' }, ...others] },
  putEventType: {
    description: 'An invoice was paid.',
    schema: {
      type: 'object',
      properties: { id: { type: 'string' }, amount: { type: 'number' } },
      required: ['id'],
      additionalProperties: false,
    },
    example: { id: 'inv_1', amount: 10 },
  },
  createApiKey: { name: 'ci', scopes: ['events:write', 'webhooks:read'], expires_at: '2099-01-01T00:00:00Z' },
  createPortalSession: {
    expires_in: 3_600,
    capabilities: ['read', 'endpoints', 'resend'],
    return_url: 'https://app.example.com/settings/webhooks',
    theme: { name: 'Example Ltd', color: '#1f6feb', mode: 'system' },
  },
  exchangePortalCode: { code: 'whc_0123456789abcdef_0123456789abcdefghjkmnpqrstvwxyz0123456789abcdefghjk' },
  createAccount: { name: 'Example Ltd' },
  updateAccount: { weight: 2 },
};
