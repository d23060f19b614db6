// @ts-check
/**
 * A receiver to try webhooks out with: prints each one that comes in, and responds with 200.
 *
 *   node tools/demo/receiver.mjs --port 4000 --secret whsec_…
 *
 * With the endpoint's secret it verifies the signatures, and responds with 401 if they are wrong.
 */
import { parseArgs } from 'node:util';
import { describeError } from '../problem.mjs';
import { say } from '../say.mjs';
import { createSignatureChecker, startWebhookReceiver } from './webhook-receiver.mjs';

/** @typedef {import('./webhook-receiver.mjs').ReceivedWebhook} ReceivedWebhook */

try {
  const { values } = parseArgs({
    options: { port: { type: 'string', default: '4000' }, secret: { type: 'string' } },
  });
  const verify = values.secret === undefined ? trustAnyone : await createVerifier(values.secret);
  const { url } = await startWebhookReceiver({
    port: Number(values.port),
    respond: (webhook) => show(webhook, verify),
  });
  say('receiver', `listening on ${url}, Ctrl-C stops`);
} catch (error) {
  say('receiver', describeError(error));
  process.exitCode = 1;
}

/**
 * @param {ReceivedWebhook} webhook
 * @param {(webhook: ReceivedWebhook) => Promise<{ isGenuine: boolean, verdict: string }>} verify
 */
async function show(webhook, verify) {
  const { isGenuine, verdict } = await verify(webhook);
  say('receiver', `${webhook.type}, attempt ${webhook.attempt}: ${verdict}`);
  say('receiver', `  ${webhook.body}`);
  return isGenuine ? 200 : 401;
}

/** @param {string} secret */
async function createVerifier(secret) {
  const check = await createSignatureChecker();
  /** @param {ReceivedWebhook} webhook */
  return (webhook) => check(secret, webhook);
}

async function trustAnyone() {
  return { isGenuine: true, verdict: 'signature not checked (no --secret)' };
}
