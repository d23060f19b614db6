import { once } from 'node:events';
import { connect } from 'node:net';
import type { Unready } from '@hookferry/core/core/open-process';
import type { WorkedQueue } from '@hookferry/core/domain/queues';
import type { ConnectionHealth } from '@hookferry/core/platform/redis-keeper';
import { fake } from '@hookferry/core/testing/fake';
import { Counter, Gauge, Registry } from 'prom-client';
import { OpsServer } from './ops-server';
import type { StallWatch } from './stall-watch';

let stop: (() => Promise<void>) | undefined;
afterEach(() => stop?.());

const STOPPING: Unready = { reason: 'stopping', detail: 'The process was told to stop.' };

async function start(unready?: Unready, stalledQueue?: WorkedQueue, stuckConnection?: string) {
  const registry = new Registry();
  new Counter({ name: 'deliveries_total', help: 'Deliveries.', registers: [registry] }).inc(3);
  const server = new OpsServer({
    host: '127.0.0.1',
    port: 0,
    registry,
    stallWatch: fake<StallWatch>({ stalledQueue }),
    connectionHealth: fake<ConnectionHealth>({ stuckConnection }),
    whyUnready: async () => unready,
  });
  stop = () => server.stop();
  return { server, registry, url: `http://127.0.0.1:${await server.start()}` };
}

async function get(url: string) {
  const response = await fetch(url);
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

describe('OpsServer', () => {
  it('says that it is alive, whatever its query', async () => {
    const { url } = await start(STOPPING);
    expect(await get(`${url}/healthz?from=orchestrator`)).toEqual({
      status: 200,
      type: 'application/json',
      text: '{"status":"ok"}',
    });
  });

  it('says that it can not work when a connection is unusable and nothing is tried any more, and which', async () => {
    const { url } = await start(undefined, undefined, 'worker');
    expect(await get(`${url}/healthz`)).toMatchObject({
      status: 503,
      text: '{"status":"stuck","connection":"worker"}',
    });
  });

  it('says that it can not work when it takes nothing from a queue, and from which', async () => {
    const { url } = await start(undefined, 'deliveries');
    expect(await get(`${url}/healthz`)).toMatchObject({
      status: 503,
      text: '{"status":"stalled","queue":"deliveries"}',
    });
  });

  it('says that it is ready', async () => {
    const { url } = await start();
    expect(await get(`${url}/readyz`)).toMatchObject({ status: 200, text: '{"status":"ready"}' });
  });

  it('says that it is not ready, and why', async () => {
    const { url } = await start(STOPPING);
    const { status, text } = await get(`${url}/readyz`);
    expect([status, JSON.parse(text)]).toEqual([503, { status: 'not ready', ...STOPPING }]);
  });

  it('shows the metrics of its registry', async () => {
    const { url } = await start();
    expect(await get(`${url}/metrics`)).toEqual({
      status: 200,
      type: 'text/plain; version=0.0.4; charset=utf-8',
      text: '# HELP deliveries_total Deliveries.\n# TYPE deliveries_total counter\ndeliveries_total 3\n',
    });
  });

  it.each(['/', '/v1/webhooks', '/healthz/', '//', '//healthz', '/%ff', '/?/healthz'])(
    'knows nothing else, such as %s',
    async (path) => {
      const { url } = await start();
      expect(await get(url + path)).toMatchObject({ status: 404 });
    },
  );

  it('answers 500 when the metrics can not be read, and goes on', async () => {
    const { url, registry } = await start();
    registry.registerMetric(
      new Gauge({
        name: 'broken',
        help: 'Broken.',
        registers: [],
        collect: () => Promise.reject(new Error('broken')),
      }),
    );
    expect(await get(`${url}/metrics`)).toMatchObject({ status: 500 });
    expect(await get(`${url}/healthz`)).toMatchObject({ status: 200 });
  });

  it('stops also while a connection is open', async () => {
    const { server, url } = await start();
    stop = undefined;
    const client = connect(Number(new URL(url).port), '127.0.0.1');
    await once(client, 'connect');
    const closed = once(client, 'close');
    client.resume();
    await server.stop();
    expect(await closed).toEqual([false]);
  });

  it('rejects when its port is taken', async () => {
    const { url } = await start();
    const port = Number(new URL(url).port);
    const second = new OpsServer({
      host: '127.0.0.1',
      port,
      registry: new Registry(),
      stallWatch: fake<StallWatch>({ stalledQueue: undefined }),
      connectionHealth: fake<ConnectionHealth>({ stuckConnection: undefined }),
      whyUnready: async () => undefined,
    });
    await expect(second.start()).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});
