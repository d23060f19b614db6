// Verifies on whatever runtime this is; SIGNED has what was signed, as JSON.
import { verify, WebhookVerificationError } from '@hookferry/receiver';
import { webhooks } from '@hookferry/receiver/fetch';
import { publicKeys } from '@hookferry/receiver/public-keys';

/** @throws Error if anything is not as it must be. */
export async function check({ secret, publicKey, headers, body }) {
  const event = await verify({ secret, headers: new Headers(headers), body: new TextEncoder().encode(body) });
  if (event.data.id !== 'Über uns 🚀') throw new Error(`Another event: ${JSON.stringify(event)}`);
  const fault = await verify({ secret, headers, body: `${body} ` }).catch((error) => error);
  if (!(fault instanceof WebhookVerificationError) || fault.code !== 'no_match') throw fault;

  const keys = publicKeys(publicKey);
  if ((await verify({ keys, headers, body })).type !== event.type)
    throw new Error('Another event by its key.');
  const forged = await verify({ keys, headers, body: `${body} ` }).catch((error) => error);
  if (!(forged instanceof WebhookVerificationError) || forged.code !== 'no_match') throw forged;

  const ids = [];
  const receive = webhooks({
    secret,
    on: { 'order.created': ({ data }) => ids.push(data.id) },
    onError: () => {},
  });
  const post = (text) => receive(new Request('http://receiver/', { method: 'POST', headers, body: text }));
  const statuses = [(await post(body)).status, (await post(`${body} `)).status];
  if (statuses.join() !== '204,401' || ids.length !== 1)
    throw new Error(`Responded with ${statuses.join()}.`);
}

const signed = globalThis.process?.env?.SIGNED;
if (signed) {
  await check(JSON.parse(signed));
  console.log('verified here');
}
