import { type ConnectProxy, startConnectProxy } from '@hookferry/core/testing/connect-proxy';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';

let receiver: Receiver;
const proxied: string[] = [];

async function startProxy(): Promise<Receiver> {
  return await Receiver.start(({ path }) => {
    proxied.push(path);
    return 204;
  });
}

describe('a worker that may reach this machine', () => {
  let stack: Stack;
  let proxy: Receiver;

  beforeAll(async () => {
    proxy = await startProxy();
    const { origin } = new URL(proxy.url);
    stack = await Stack.start({
      environment: {
        RETRY_SCHEDULE: '100ms',
        HTTP_PROXY: origin,
        http_proxy: origin,
        ALL_PROXY: origin,
        NODE_USE_ENV_PROXY: '1',
      },
    });
  });
  afterAll(async () => {
    await stack.stop();
    await proxy.stop();
  });
  afterEach(() => receiver.stop());

  it('delivers to a name in its hosts file, itself and not by a proxy of its environment', async () => {
    receiver = await Receiver.start();
    const webhook = await stack.client.register(receiver.url.replace('127.0.0.1', 'localhost'));
    const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
    await stack.client.waitForStatus(webhook.id, eventId, 'delivered');
    expect(receiver.requests).toHaveLength(1);
    expect(proxied).toEqual([]);
    await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
  });

  it('does not follow a redirect to the metadata service: that is a failed attempt', async () => {
    const headers = { location: 'http://169.254.169.254/latest/meta-data/' };
    receiver = await Receiver.start(() => ({ status: 302, headers }));
    const webhook = await stack.client.register(receiver.url);
    const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
    const { attempts } = await stack.client.waitForStatus(webhook.id, eventId, 'exhausted');
    expect(attempts.map(({ outcome }) => outcome)).toEqual(['http_3xx', 'http_3xx']);
    expect(stack.workers[0]?.output).not.toContain('delivery.blocked');
    await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
  });
});

// Such as an endpoint that was registered before its address was closed to deliveries.
describe('a worker that may not reach what was registered', () => {
  let stack: Stack;

  beforeAll(async () => {
    stack = await Stack.start({ workers: 0, environment: { RETRY_SCHEDULE: '100ms,100ms' } });
    await stack.startWorker({ DELIVERY_ALLOWED_CIDRS: '' });
  });
  afterAll(() => stack.stop());
  beforeEach(async () => {
    receiver = await Receiver.start();
  });
  afterEach(() => receiver.stop());

  it.each(['127.0.0.1', 'localhost'])('tries %s as scheduled, and never connects', async (host) => {
    const webhook = await stack.client.register(receiver.url.replace('127.0.0.1', host));
    const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
    const { attempts } = await stack.client.waitForStatus(webhook.id, eventId, 'exhausted');
    const blocked = {
      outcome: 'blocked_address',
      error: `${host} leads to an address that no delivery may go to; the worker's log says to which and why.`,
    };
    expect(attempts).toMatchObject([blocked, blocked, blocked]);
    expect(receiver.requests).toEqual([]);
    const line = await stack.workers[0]?.waitForLine(
      ({ message, host: blockedHost }) => message === 'delivery.blocked' && blockedHost === host,
    );
    expect(line).toMatchObject({
      level: 'warn',
      host,
      address: expect.stringMatching(/^(127\.0\.0\.1|::1)$/),
      reason: 'loopback',
    });
    await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
  });
});

describe('a worker behind a proxy', () => {
  const PASSWORD = 'known-to-nobody-else';
  let stack: Stack;
  let proxy: ConnectProxy;
  let respond: () => number;

  beforeAll(async () => {
    proxy = await startConnectProxy({ answer: () => respond() });
    stack = await Stack.start({
      environment: { DELIVERY_PROXY_URL: `http://us:${PASSWORD}@127.0.0.1:${proxy.port}` },
    });
  });
  afterAll(async () => {
    await stack.stop();
    await proxy.close();
  });
  beforeEach(async () => {
    receiver = await Receiver.start();
  });
  afterEach(() => receiver.stop());

  it('delivers through it, and leaves the names to it', async () => {
    respond = () => 200;
    const { port } = new URL(receiver.url);
    const webhook = await stack.client.register(`http://hooks.example.com:${port}/hook`);
    const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
    await stack.client.waitForStatus(webhook.id, eventId, 'delivered');
    expect(proxy.asked).toEqual([`hooks.example.com:${port}`]);
    await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
  });

  it('uses no attempt up while the proxy is out of order, and delivers when it is well', async () => {
    let asked = 0;
    respond = () => {
      asked += 1;
      return asked === 1 ? 407 : 200;
    };
    const { port } = new URL(receiver.url);
    const webhook = await stack.client.register(`http://hooks.example.com:${port}/hook`);
    const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
    const { attempts } = await stack.client.waitForStatus(webhook.id, eventId, 'delivered');
    expect(attempts).toMatchObject([{ number: 1, outcome: 'delivered' }]);
    expect(receiver.requests).toHaveLength(1);
    const [worker] = stack.workers;
    expect(await worker?.waitForLine(({ message }) => message === 'delivery.unsent')).toMatchObject({
      level: 'warn',
      event_id: eventId,
      webhook_id: webhook.id,
      error: 'The proxy responded with 407 instead of opening a tunnel.',
    });
    expect(worker?.output).not.toContain(PASSWORD);
    await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
  });
});
