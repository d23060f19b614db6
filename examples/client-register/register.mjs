// Registers a webhook under a name of our own, or brings it up to date, and sends it a test.
// Run it at each deployment: it can be repeated as often as you like.
//
//   HOOKFERRY_URL=http://127.0.0.1:3000 HOOKFERRY_API_KEY=whk_… WEBHOOK_URL=https://example.com/hook node register.mjs
import { createClient, WebhooksApiError } from '@hookferry/client';

const { HOOKFERRY_URL, HOOKFERRY_API_KEY, WEBHOOK_URL } = process.env;
if (!HOOKFERRY_URL || !HOOKFERRY_API_KEY || !WEBHOOK_URL) {
  console.error('Set HOOKFERRY_URL, HOOKFERRY_API_KEY and WEBHOOK_URL.');
  process.exit(2);
}

const UID = 'client-register-example';
const SETTINGS = { url: WEBHOOK_URL, events: ['order.*'], rate_limit: 20 };

const client = createClient({
  baseUrl: HOOKFERRY_URL,
  apiKey: HOOKFERRY_API_KEY,
  onRetry: ({ method, path, delayMs, error }) =>
    console.error(`${method} ${path} again in ${delayMs} ms: ${error.message}`),
});

try {
  console.log(await register());
  await client.POST('/v1/webhooks/{id}/test', {
    params: { path: { id: UID } },
    body: { event_type: 'order.created' },
  });
  console.log('A test is on its way.');
} catch (error) {
  if (!(error instanceof WebhooksApiError)) throw error;
  console.error(error.message);
  for (const { pointer, detail } of error.errors) console.error(`  ${pointer} ${detail}`);
  process.exitCode = 1;
}

async function register() {
  try {
    const webhook = await client.PATCH('/v1/webhooks/{id}', {
      params: { path: { id: UID } },
      body: SETTINGS,
    });
    return `${webhook.id} is up to date.`;
  } catch (error) {
    if (!(error instanceof WebhooksApiError && error.code === 'not_found')) throw error;
    const webhook = await client.POST('/v1/webhooks', { body: { uid: UID, ...SETTINGS } });
    return `${webhook.id} is registered. Its secret, for the receiver: ${webhook.secret}`;
  }
}
