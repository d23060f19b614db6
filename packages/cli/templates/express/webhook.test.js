import assert from 'node:assert/strict';
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { startApp } from './app.js';

const secret = `whsec_${randomBytes(32).toString('base64')}`;
const handled = [];
let app;

before(async () => {
  const on = {
    'order.created': async ({ id, data }) => {
      if (data.fails) throw new Error('as the test wants it');
      handled.push(id);
    },
  };
  app = await startApp({ secret, port: 0, on, onError: () => {} });
});
after(() => app.close());

/** Send an event as the service does. */
async function send(data, { id = `evt_${randomUUID()}`, key = secret, ageSeconds = 0 } = {}) {
  const body = JSON.stringify({ type: 'order.created', data });
  const timestamp = Math.floor(Date.now() / 1000) - ageSeconds;
  const hmac = createHmac('sha256', Buffer.from(key.slice('whsec_'.length), 'base64'));
  const signature = hmac.update(`${id}.${timestamp}.${body}`).digest('base64');
  const response = await fetch(`${app.url}/webhooks`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': `v1,${signature}`,
    },
    body,
  });
  return { id, status: response.status };
}

test('handles an event that the service has signed', async () => {
  const { id, status } = await send({ id: 'ord_1' });
  assert.equal(status, 204);
  assert.ok(handled.includes(id));
});

test('handles an event once, however often it comes', async () => {
  const { id } = await send({ id: 'ord_2' });
  const again = await send({ id: 'ord_2' }, { id });
  assert.equal(again.status, 204);
  assert.equal(handled.filter((each) => each === id).length, 1);
});

test('refuses what somebody else has signed, and what is old', async () => {
  const foreign = await send({ id: 'ord_3' }, { key: `whsec_${randomBytes(32).toString('base64')}` });
  const old = await send({ id: 'ord_3' }, { ageSeconds: 3_600 });
  assert.deepEqual([foreign.status, old.status], [401, 401]);
  assert.ok(!handled.includes(foreign.id) && !handled.includes(old.id));
});

test('has an event sent again that it could not handle', async () => {
  assert.equal((await send({ fails: true })).status, 500);
});
