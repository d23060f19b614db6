// @ts-check
import { setTimeout as wait } from 'node:timers/promises';
import { demoEvents } from '../demo/demo-events.mjs';
import { startWebhookReceiver } from '../demo/webhook-receiver.mjs';
import { Problem } from '../problem.mjs';

/** @typedef {{ link: () => Promise<string>, webhookId: string, deliveryId: string, close: () => void }} Scene `link` signs in once */

const ROUNDS = 12;
const LOOK_EVERY_MS = 200;
const CAPABILITIES = ['read', 'endpoints', 'resend', 'secrets', 'operate'];

/**
 * Webhooks of which one is well, one fails now and then, and one always; with what they were sent.
 * @param {import('../start/start-stack.mjs').Stack} stack
 * @param {AbortSignal} signal
 * @returns {Promise<Scene>}
 */
export async function prepareScene({ apiUrl, apiKey }, signal) {
  const call = createCall(apiUrl, apiKey, signal);
  let count = 0;
  const receivers = await Promise.all([
    startWebhookReceiver({ port: 0, answer: async () => 204 }),
    startWebhookReceiver({ port: 0, answer: async () => ((count += 1) % 3 === 0 ? 503 : 200) }),
    startWebhookReceiver({ port: 0, answer: async () => 500 }),
  ]);
  const names = ['Production', 'Reporting, which is slow at times', 'An old system'];
  const webhooks = [];
  for (const [index, { url }] of receivers.entries()) {
    webhooks.push(await call('POST', '/v1/webhooks', { url, events: ['*'], description: names[index] }));
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const event of demoEvents) await call('POST', '/v1/events', event);
  }
  const webhookId = webhooks[1]?.id;
  const deliveryId = await waitForRetried(call, webhookId);
  return {
    link: async () => (await call('POST', '/v1/portal-sessions', { capabilities: CAPABILITIES })).url,
    webhookId,
    deliveryId,
    close: () => receivers.forEach((receiver) => receiver.close()),
  };
}

/**
 * A delivery that failed first and was delivered then; by then most others are done too.
 * @param {ReturnType<typeof createCall>} call
 * @param {string} webhookId
 * @returns {Promise<string>}
 */
async function waitForRetried(call, webhookId) {
  for (;;) {
    const { data } = await call('GET', `/v1/webhooks/${webhookId}/deliveries?status=delivered&limit=200`);
    const found = data.find(
      (/** @type {{ attempt_count: number }} */ delivery) => delivery.attempt_count > 1,
    );
    if (found) return found.id;
    await wait(LOOK_EVERY_MS);
  }
}

/**
 * @param {string} apiUrl
 * @param {string} apiKey
 * @param {AbortSignal} signal
 */
function createCall(apiUrl, apiKey, signal) {
  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   */
  return async (method, path, body) => {
    const response = await fetch(apiUrl + path, {
      method,
      signal,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Problem(`${method} ${path} gave ${response.status}: ${text}`);
    return JSON.parse(text);
  };
}
