// @ts-check
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

/**
 * A webhook as it came in.
 * @typedef {object} ReceivedWebhook
 * @property {import('node:http').IncomingHttpHeaders} headers
 * @property {string} body exactly as sent: what the signatures were made over
 * @property {string} type
 * @property {string} attempt
 */

/**
 * Listens for webhooks on 127.0.0.1.
 * @param {object} options
 * @param {number} options.port 0 = any free one
 * @param {(webhook: ReceivedWebhook) => Promise<number>} options.respond gives the status to respond with
 * @returns {Promise<{ url: string, close(): void }>}
 */
export async function startWebhookReceiver({ port, respond }) {
  const server = createServer((request, response) => {
    receive(request).then(
      async (webhook) => response.writeHead(await respond(webhook)).end(),
      () => response.destroy(), // The sender hung up in the middle of its request.
    );
  });
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(undefined));
  });
  const address = server.address();
  const actualPort = typeof address === 'object' && address ? address.port : port;
  return { url: `http://127.0.0.1:${actualPort}/hook`, close: () => closeAtOnce(server) };
}

/**
 * @param {import('node:http').IncomingMessage} request
 * @returns {Promise<ReceivedWebhook>}
 */
async function receive(request) {
  const body = await text(request);
  const attempt = String(request.headers['x-service-attempt'] ?? '?');
  return { headers: request.headers, body, type: eventType(body), attempt };
}

/** @param {string} body */
function eventType(body) {
  try {
    return String(JSON.parse(body).type);
  } catch {
    return '(not an event)';
  }
}

/** @param {import('node:http').Server} server */
function closeAtOnce(server) {
  server.close();
  server.closeAllConnections(); // The sender keeps its connections open for the next webhook.
}

/**
 * Gives a function that checks the two signatures of a webhook, as a receiver would.
 * @returns {Promise<(secret: string, webhook: ReceivedWebhook) => Promise<{ isGenuine: boolean, verdict: string }>>}
 */
export async function createSignatureChecker() {
  // Not at the top of the file: this package of ours exists only once the project has been built.
  const { verifySignature } = await import('@hookferry/receiver');
  return async (secret, { headers, body }) => {
    // Where it has both, a receiver looks at `webhook-signature` alone.
    const { 'webhook-signature': _, ...plain } = headers;
    const checks = [headers, plain].map((some) => verifySignature({ secret, headers: some, body }));
    const faults = (await Promise.allSettled(checks)).flatMap((check) =>
      check.status === 'rejected' ? [String(check.reason.message)] : [],
    );
    const isGenuine = faults.length === 0;
    return { isGenuine, verdict: isGenuine ? 'signature verified' : `NOT GENUINE: ${faults.join(', ')}` };
  };
}
