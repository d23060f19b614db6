// @ts-check
import { randomBytes } from 'node:crypto';
import { messageOf } from '../problem.mjs';
import { say } from '../say.mjs';

const RECEIVER_PORT = 4000;

/**
 * What to do now, as commands that work when pasted, in this order.
 * @param {import('./start-stack.mjs').Stack} stack
 * @param {string | undefined} portalLink
 */
export function printWelcome({ apiUrl, workerUrl, apiKey, redisUrl, historyUrl }, portalLink) {
  // The receiver has to know the secret before the endpoint exists, so the client brings one of its own.
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const endpoint = { url: `http://127.0.0.1:${RECEIVER_PORT}/hook`, events: ['*'], secret };
  const event = { type: 'order.created', data: { id: 'ord_1', total: 99.5 } };
  process.stdout.write(`
Hookferry is ready.

  API       ${apiUrl}
  metrics   ${apiUrl}/metrics and ${workerUrl}/metrics
  API key   ${apiKey}${redisUrl === undefined ? '' : `\n  Redis     REDIS_URL=${redisUrl}`}${historyUrl === undefined ? '' : `\n  history   HISTORY_DATABASE_URL=${historyUrl}`}
  docs      ${apiUrl}/docs${portalLink === undefined ? '' : `\n  portal    ${portalLink}\n            (signs you in as the operator, once, within ten minutes)`}

1. Receive webhooks, in a second terminal in this folder:

node tools/demo/receiver.mjs --port ${RECEIVER_PORT} --secret '${secret}'

2. Add an event type, and register the receiver as a webhook:

${curl(`-X PUT ${apiUrl}/v1/event-types/${event.type}`, apiKey, `@examples/event-types/${event.type}.json`)}
${curl(`${apiUrl}/v1/webhooks`, apiKey, JSON.stringify(endpoint))}

3. Publish an event:

${curl(`${apiUrl}/v1/events`, apiKey, JSON.stringify(event))}

Ctrl-C stops everything.

`);
}

/**
 * @param {string} target the URL, and the method if it is not POST
 * @param {string} apiKey
 * @param {string} body must hold no single quote
 */
function curl(target, apiKey, body) {
  return [
    `curl -sS -w '\\n' ${target} \\`,
    `  -H 'Authorization: Bearer ${apiKey}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${body}'`,
  ].join('\n');
}

/** All that a portal session may have. */
export const CAPABILITIES = [
  'read',
  'webhooks',
  'redeliver',
  'schedule',
  'publish',
  'transform',
  'secrets',
  'audit',
  'operate',
];
const A_DAY_SECONDS = 86_400;

/**
 * A link that opens the portal signed in as the operator, once and within ten minutes; `undefined`, with a word why, where
 * the API makes none: it is of use without one.
 * @param {object} options
 * @param {string} options.apiUrl
 * @param {string} options.apiKey
 * @param {AbortSignal} options.signal
 * @returns {Promise<string | undefined>}
 */
export async function createPortalLink({ apiUrl, apiKey, signal }) {
  if (process.env['PORTAL'] === 'false') return undefined;
  try {
    const response = await fetch(`${apiUrl}/v1/portal-sessions`, {
      method: 'POST',
      signal,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ capabilities: CAPABILITIES, expires_in_seconds: A_DAY_SECONDS }),
    });
    /** @type {{ url?: string, detail?: string }} */
    const body = JSON.parse(await response.text());
    if (response.status === 201) return body.url;
    say('start', `The link to the portal could not be created: ${body.detail}`);
  } catch (error) {
    signal.throwIfAborted();
    say('start', `The link to the portal could not be created: ${messageOf(error)}`);
  }
  return undefined;
}
