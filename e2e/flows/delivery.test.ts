import { createHmac } from 'node:crypto';
import { verify as verifyWithOctokit } from '@octokit/webhooks-methods';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { publishFromProcess } from '../support/publish-from-process';
import { type ReceivedRequest, Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';

const BODY = JSON.stringify({ type: QUICK_WIN.type, data: QUICK_WIN.data });

let stack: Stack;
let receiver: Receiver;

beforeAll(async () => {
  stack = await Stack.start({ environment: { RETRY_SCHEDULE: '100ms,100ms' } });
});
afterAll(() => stack.stop());

beforeEach(async () => {
  receiver = await Receiver.start((_request, count) => (count < 3 ? 500 : 204));
});
afterEach(() => receiver.stop());

describe.each([
  ['over HTTP', () => stack.client.publish(QUICK_WIN.type, QUICK_WIN.data)],
  [
    'straight onto the queue, from a process of its own',
    () => publishFromProcess(stack.redis.url, QUICK_WIN),
  ],
])('an event published %s', (_how, publish) => {
  it('arrives with exactly type and data, byte for byte the same on every attempt', async () => {
    const webhook = await stack.client.register(receiver.url, ['keyword.*']);
    await publish();

    const requests = await receiver.waitFor(3);
    expect(requests.map(({ body }) => body.toString())).toEqual([BODY, BODY, BODY]);
    expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual(Array(3).fill('POST /hook'));
    expect(requests.map(({ headers }) => headers['x-service-attempt'])).toEqual(['1', '2', '3']);
    expect(new Set(requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(requests.map(({ headers }) => headers['content-type'])).toEqual(Array(3).fill('application/json'));
    await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
  });

  it('is verified by four independent libraries, and by none after one changed byte', async () => {
    const webhook = await stack.client.register(receiver.url);
    await publish();

    const [request] = (await receiver.waitFor(1)) as [ReceivedRequest];
    const changed = { ...request, body: Buffer.from(request.body.toString().replace('2400', '2401')) };
    expect(await verifiers(webhook.secret, request)).toEqual(everyVerifierSays(true));
    expect(await verifiers(webhook.secret, changed)).toEqual(everyVerifierSays(false));
    await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
  });
});

it('each attempt has the address that it was sent to, over a new connection or the same', async () => {
  const webhook = await stack.client.register(receiver.url);
  const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
  const { attempts } = await stack.client.waitForStatus(webhook.id, eventId, 'delivered');
  expect(attempts.map(({ outcome, remote_address: address }) => [outcome, address])).toEqual([
    ['http_5xx', '127.0.0.1'],
    ['http_5xx', '127.0.0.1'],
    ['delivered', '127.0.0.1'],
  ]);
  await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
});

it('an attempt that no receiver took has the address that was tried', async () => {
  await receiver.stop();
  const webhook = await stack.client.register(receiver.url.replace('127.0.0.1', '127.0.0.2'));
  const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
  const { attempts } = await stack.client.waitForStatus(webhook.id, eventId, 'exhausted');
  expect(attempts[0]).toMatchObject({ outcome: 'connect_refused', remote_address: '127.0.0.2' });
  await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
});

it('signs with a secret that the client brought', async () => {
  const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
  const { body: webhook } = await stack.client.expect<{ id: string; secret: string }>(
    201,
    'POST',
    '/v1/webhooks',
    {
      url: receiver.url,
      events: ['*'],
      secret,
    },
  );
  await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);

  const [request] = (await receiver.waitFor(1)) as [ReceivedRequest];
  expect(webhook.secret).toBe(secret);
  expect(await verifiers(secret, request)).toEqual(everyVerifierSays(true));
  await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
});

it('tells nobody a secret, an API key or a payload in the log', async () => {
  const webhook = await stack.client.register(receiver.url);
  await stack.client.publish(QUICK_WIN.type, { ...QUICK_WIN.data, keyword: 'a-payload-to-look-for' });
  await receiver.waitFor(3);

  const output = [stack.api, ...stack.workers].map((part) => part.output).join('\n');
  expect(output).toContain(webhook.id);
  expect(output).not.toContain(webhook.secret);
  expect(output).not.toContain('a-payload-to-look-for');
  expect(output).not.toMatch(/whk_[0-9a-z]{16}_/);
  await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
});

// Node itself says so if it does not know an option that a process sets: each version knows others.
it('writes nothing but lines of the log', () => {
  const lines = [stack.api, ...stack.workers].flatMap((part) => part.output.split('\n'));
  expect(lines.filter((line) => line !== '' && !line.startsWith('{'))).toEqual([]);
});

async function verifiers(
  secret: string,
  { headers, body }: ReceivedRequest,
): Promise<Record<string, boolean>> {
  const text = body.toString();
  const given = headers as Record<string, string>;
  const serviceSignature = String(headers['x-service-signature']);
  return {
    standardwebhooks: doesNotThrow(() => new StandardWebhook(secret).verify(text, given)),
    svix: doesNotThrow(() => new SvixWebhook(secret).verify(text, given)),
    octokit: await verifyWithOctokit(secret, text, serviceSignature),
    'node:crypto': serviceSignature === `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  };
}

function everyVerifierSays(verdict: boolean): Record<string, boolean> {
  return { standardwebhooks: verdict, svix: verdict, octokit: verdict, 'node:crypto': verdict };
}

function doesNotThrow(action: () => unknown): boolean {
  try {
    action();
    return true;
  } catch {
    return false;
  }
}
