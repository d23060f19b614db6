// @ts-check
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../problem.mjs';
import { say } from '../say.mjs';
import { createApiClient, demoEvents, REFUSED_ONCE } from './demo-service.mjs';
import { eventOf, fillWeek, registerShops, startLocalShops } from './shops.mjs';
import { createSignatureChecker, startWebhookReceiver } from './webhook-receiver.mjs';

const GIVE_UP_AFTER_MS = 60_000;

/**
 * Shows the service at work, from the registration of an endpoint to the last delivery.
 * @param {object} options
 * @param {import('../start/start-stack.mjs').Stack} options.stack
 * @param {AbortSignal} options.signal
 * @param {import('../processes/process-group.mjs').ProcessGroup} options.group
 * @param {boolean} options.isKept whether the endpoint stays, beside a week of others; its receiver does until the group is stopped
 */
export async function runDemo({ stack, signal, group, isKept }) {
  const api = createApiClient({ ...stack, signal });
  const delivered = new ExpectedDeliveries(demoEvents.map(({ type }) => type));
  let secret = '';
  const receiver = await startWebhookReceiver({
    port: 0,
    respond: await createResponder(() => secret, delivered),
  });
  group.onStopped(async () => receiver.close());
  const endpoint = await api.registerEndpoint(receiver.url);
  secret = endpoint.secret;
  say('demo', `registered ${receiver.url} as webhook ${endpoint.id}`);
  for (const event of demoEvents) {
    await api.publishEvent(event);
    say('demo', `published ${event.type}`);
  }
  await delivered.waitForAll(signal);
  say('demo', `all ${demoEvents.length} events were delivered`);
  if (stack.historyUrl !== undefined) await waitUntilMoved({ ...stack, signal });
  if (isKept) {
    await showWeek({ stack, api, signal, group });
    return;
  }
  await api.deleteEndpoint(endpoint.id);
  say('demo', 'webhook deleted');
}

const EVENTS_NOW = 5;

/**
 * Fills the portal with a week of a platform for shops, whose receivers go on responding.
 * @param {object} options
 * @param {import('../start/start-stack.mjs').Stack} options.stack
 * @param {ReturnType<typeof createApiClient>} options.api
 * @param {AbortSignal} options.signal
 * @param {import('../processes/process-group.mjs').ProcessGroup} options.group
 */
async function showWeek({ stack: { redisUrl, historyUrl }, api, signal, group }) {
  if (redisUrl === undefined) return;
  const { urls, close } = await startLocalShops();
  group.onStopped(async () => close());
  const webhookIds = await registerShops(api, urls);
  let told = 0;
  const onProgress = (/** @type {number} */ share) => {
    if (share < told) return;
    say('demo', `filling the portal with a week of a platform for shops: ${Math.round(share * 100)} %`);
    told = share + PROGRESS_STEP;
  };
  const hasHistory = historyUrl !== undefined;
  const past = await fillWeek({ redisUrl, webhookIds, hasHistory, signal, onProgress });
  for (let each = 1; each <= EVENTS_NOW; each += 1) await api.publishEvent(eventOf(past + each));
  say('demo', `the portal has ${past + EVENTS_NOW + demoEvents.length} events, of the last seven days`);
}

const PROGRESS_STEP = 0.25;
const ASK_EVERY_MS = 200;

/**
 * @param {object} options
 * @param {string} options.workerUrl
 * @param {AbortSignal} options.signal
 */
async function waitUntilMoved({ workerUrl, signal }) {
  for (;;) {
    const metrics = await (await fetch(`${workerUrl}/metrics`, { signal })).text();
    const moved = Number(/^webhooks_history_moved_total(?:\{.*\})? (\d+)/m.exec(metrics)?.[1] ?? 0);
    if (moved >= demoEvents.length) break;
    await sleep(ASK_EVERY_MS, undefined, { signal });
  }
  say('demo', `all ${demoEvents.length} deliveries moved to PostgreSQL`);
}

/**
 * @param {() => string} secret known only once the endpoint is registered
 * @param {ExpectedDeliveries} delivered
 */
async function createResponder(secret, delivered) {
  const check = await createSignatureChecker();
  /** @param {import('./webhook-receiver.mjs').ReceivedWebhook} webhook */
  return async (webhook) => {
    const { isGenuine, verdict } = await check(secret(), webhook);
    const status = isGenuine ? chooseStatus(webhook) : 401;
    say('receiver', `${webhook.type}, attempt ${webhook.attempt}: ${verdict}, responding with ${status}`);
    if (status === 200) delivered.tick(webhook.type);
    return status;
  };
}

/** @param {import('./webhook-receiver.mjs').ReceivedWebhook} webhook */
function chooseStatus({ type, attempt }) {
  return type === REFUSED_ONCE && attempt === '1' ? 500 : 200;
}

class ExpectedDeliveries {
  #missing;
  #complete = new AbortController();

  /** @param {readonly string[]} types */
  constructor(types) {
    this.#missing = new Set(types);
  }

  /** @param {string} type */
  tick(type) {
    this.#missing.delete(type);
    if (this.#missing.size === 0) this.#complete.abort();
  }

  /** @param {AbortSignal} interrupted */
  async waitForAll(interrupted) {
    const timeout = AbortSignal.timeout(GIVE_UP_AFTER_MS);
    const end = AbortSignal.any([this.#complete.signal, interrupted, timeout]);
    if (!end.aborted) await new Promise((resolve) => end.addEventListener('abort', resolve, { once: true }));
    interrupted.throwIfAborted();
    if (this.#missing.size === 0) return;
    throw new Problem(`Not delivered within ${GIVE_UP_AFTER_MS / 1000} s: ${[...this.#missing].join(', ')}`);
  }
}
