// @ts-check
import { setTimeout as wait } from 'node:timers/promises';
import { demoEvents } from '../demo/demo-service.mjs';
import { startWebhookReceiver } from '../demo/webhook-receiver.mjs';
import { Problem } from '../problem.mjs';

const ROUNDS = 12;
const LOOK_EVERY_MS = 200;
const CAPABILITIES = [
  'read',
  'webhooks',
  'resend',
  'schedule',
  'publish',
  'transform',
  'secrets',
  'audit',
  'operate',
];

/**
 * @typedef {object} Scene
 * @property {(account?: string) => Promise<string>} link Signs in once.
 * @property {string} webhookId
 * @property {string} deliveryId
 * @property {string} eventId
 * @property {() => Promise<string>} openAccount Makes one that has nothing, and gives its id.
 * @property {string} storyUrl Of a receiver that no webhook has yet: it answers 503 twice, then 204.
 * @property {Call} call
 * @property {() => void} close
 */

/**
 * Webhooks of which one is well, one fails now and then, and one always; with what they were sent.
 * @param {Pick<import('../start/start-stack.mjs').Stack, 'apiUrl' | 'apiKey'>} stack
 * @param {AbortSignal} signal
 * @returns {Promise<Scene>}
 */
export async function prepareScene({ apiUrl, apiKey }, signal) {
  const call = createCall({ apiUrl, apiKey, signal });
  let count = 0;
  const receivers = await Promise.all([
    startWebhookReceiver({ port: 0, answer: async () => 204 }),
    startWebhookReceiver({ port: 0, answer: async () => ((count += 1) % 3 === 0 ? 503 : 200) }),
    startWebhookReceiver({ port: 0, answer: async () => 500 }),
  ]);
  let accounts = 0;
  let ofStory = 0;
  const story = await startWebhookReceiver({
    port: 0,
    answer: async () => ((ofStory += 1) <= 2 ? 503 : 204),
  });
  const names = ['Production', 'Reporting, which is slow at times', 'An old system'];
  const webhooks = [];
  for (const [index, { url }] of receivers.entries()) {
    webhooks.push(await call('POST', '/v1/webhooks', { url, events: ['*'], description: names[index] }));
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const event of demoEvents) await call('POST', '/v1/events', event);
  }
  // What accounts use is written every ten seconds.
  while ((await call('GET', '/v1/operations/accounts')).data.length === 0) await wait(LOOK_EVERY_MS);
  const webhookId = webhooks[1]?.id;
  const delivery = await waitForRetried(call, webhookId);
  return {
    link: async (account = 'default') => {
      // Only sessions of the operator's own account may operate.
      const capabilities = CAPABILITIES.filter((name) => name !== 'operate' || account === 'default');
      const { url } = await call('POST', '/v1/portal-sessions', { account, capabilities });
      const { pathname, hash } = new URL(url);
      // Where it is to be found need not be where it says it is.
      return apiUrl + pathname + hash;
    },
    webhookId,
    deliveryId: delivery.id,
    eventId: delivery.event_id,
    openAccount: async () => {
      accounts += 1;
      return (
        await call('POST', '/v1/accounts', { id: `empty_${accounts}`, name: 'An account with nothing' })
      ).id;
    },
    storyUrl: story.url,
    call,
    close: () => [...receivers, story].forEach((receiver) => receiver.close()),
  };
}

/** @typedef {(method: string, path: string, body?: unknown) => Promise<any>} Call Gives what the API answers. */

/**
 * A delivery that failed first and was delivered then; by then most others are done too.
 * @param {Call} call
 * @param {string} webhookId
 * @returns {Promise<{ id: string, event_id: string }>}
 */
async function waitForRetried(call, webhookId) {
  for (;;) {
    const { data } = await call('GET', `/v1/webhooks/${webhookId}/deliveries?status=delivered&limit=200`);
    const found = data.find(
      (/** @type {{ attempt_count: number }} */ delivery) => delivery.attempt_count > 1,
    );
    if (found) return found;
    await wait(LOOK_EVERY_MS);
  }
}

/**
 * @param {object} options
 * @param {string} options.apiUrl
 * @param {string} options.apiKey
 * @param {AbortSignal} options.signal
 * @returns {Call}
 */
function createCall({ apiUrl, apiKey, signal }) {
  return async (method, path, body) => {
    const response = await fetch(apiUrl + path, {
      method,
      signal,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Problem(`${method} ${path} gave ${response.status}: ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
}
