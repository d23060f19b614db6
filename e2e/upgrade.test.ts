import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { openTestRedis, type TestRedis } from '@hookferry/core/testing/test-redis';
import { ApiClient } from './support/api-client';
import { buildFormerVersion } from './support/former-build';
import { ManagedProcess } from './support/managed-process';
import { isFarBehind } from './support/publish-without-end';
import { Receiver } from './support/receiver';
import { QUICK_WIN } from './support/samples';
import { addressOf, testSettings } from './support/stack';
import { until } from './support/until';

// The last one whose deliveries had two job ids by turns, on two queues.
const FORMER_VERSION = '829e12881db2a5be5193c49eb5a6b71a948a63fc';
const HERE = join(__dirname, '..');
const AT_ONCE = 4;
// About as many as the endpoint with a rate limit takes: it gets all of them in the end.
const PAUSE_MS = 80;

const { key: apiKey } = buildApiKey();
let redis: TestRedis;
let processes: ManagedProcess[];

beforeAll(async () => {
  await buildFormerVersion(FORMER_VERSION);
}, 180_000);
beforeEach(async () => {
  redis = await openTestRedis();
  processes = [];
});
afterEach(async () => {
  await Promise.all(processes.map((one) => one.end()));
  await redis.close();
});

it('loses nothing when the former version is replaced under load, one process after the other', async () => {
  const former = await buildFormerVersion(FORMER_VERSION);
  const oldApi = await startApi(former);
  const oldWorker = await startWorker(former);
  const apis = [oldApi.client];
  const receivers = await Promise.all([
    Receiver.start(),
    // Ten failures in a row open a breaker: deliveries are held at the former version's gate. Each probe after that takes
    // twice as long to come.
    Receiver.start((_request, count) => (count > 5 && count <= 17 ? 500 : 204)),
    Receiver.start(),
    Receiver.start(),
    Receiver.start(),
  ]);
  const [healthy, failing, limited, strict, disabled] = receivers;
  await register(oldApi.client, healthy, {});
  await register(oldApi.client, failing, {});
  await register(oldApi.client, limited, { rate_limit: 40 });
  await register(oldApi.client, strict, { ordering: 'strict' });
  const disabledId = await register(oldApi.client, disabled, {});
  await oldApi.client.expect(200, 'POST', `/v1/webhooks/${disabledId}/disable`);

  const load = publishWithoutEnd(apis, strict);
  await load.until(80);
  const newWorker = await startWorker(HERE);
  await load.until(150);
  await oldWorker.end('SIGTERM');
  // Somebody has second thoughts. Never two of the former version beside each other: by themselves, with too little of the
  // processor, those lose a delivery now and then that a rate limit holds, which is why what came after them was made.
  const lastOldWorker = await startWorker(former);
  await load.until(200);
  const newApi = await startApi(HERE);
  apis.push(newApi.client);
  await load.until(250);
  apis.shift();
  await oldApi.process.end('SIGTERM');
  await load.until(300);
  await startWorker(HERE);
  // The last one of the former version does not even say good-bye.
  await lastOldWorker.end('SIGKILL');
  await load.until(350);
  await newApi.client.expect(200, 'POST', `/v1/webhooks/${disabledId}/enable`);
  const accepted = await load.stop();

  for (const receiver of receivers) {
    await until(async () => (accepted.every((id) => idsAt(receiver).has(id)) ? true : undefined));
  }
  await until(async () => ((await leftOvers(redis)).length === 0 ? true : undefined));
  expect(newWorker.log.filter(({ message }) => message === 'job.failed')).toEqual([]);
  await Promise.all(receivers.map((receiver) => receiver.stop()));
}, 400_000);

/** Publishes on and on, at an even pace, each event under an id of its own until one of the APIs has accepted it. */
function publishWithoutEnd(apis: readonly ApiClient[], slowest: Receiver) {
  const accepted: string[] = [];
  const stopping = new AbortController();
  let count = 0;
  const publishers = Array.from({ length: AT_ONCE }, async () => {
    while (!stopping.signal.aborted) {
      await until(async () => (isFarBehind(slowest, count) ? undefined : true));
      const id = `upgrade-${count++}`;
      await until(async () => await publish(apis[count % apis.length], id));
      accepted.push(id);
      await wait(PAUSE_MS);
    }
  });
  return {
    until: async (wanted: number) => {
      await until(async () => (accepted.length >= wanted ? true : undefined));
    },
    stop: async () => {
      stopping.abort();
      await Promise.all(publishers);
      return accepted;
    },
  };
}

async function publish(api: ApiClient | undefined, id: string): Promise<true | undefined> {
  const answer = await api?.request('POST', '/v1/events', { ...QUICK_WIN, id }).catch(() => undefined);
  return answer?.status === 202 || answer?.status === 200 ? true : undefined;
}

function idsAt(receiver: Receiver | undefined): ReadonlySet<string> {
  return new Set(receiver?.requests.map(({ headers }) => String(headers['webhook-id'])));
}

/** What of the former version's, and of unfinished work, is in Redis still. */
async function leftOvers({ client }: TestRedis): Promise<readonly string[]> {
  const patterns = ['parked:*', 'claims:*', 'held:*', 'bull:deliveries:evt*', 'bull:deliveries:upgrade*'];
  const ofSlow = ['bull:deliveries-slow:upgrade*', 'bull:gates:wh*'];
  const found = await Promise.all([...patterns, ...ofSlow].map((pattern) => client.keys(pattern)));
  return found.flat();
}

async function register(client: ApiClient, receiver: Receiver | undefined, more: object): Promise<string> {
  const webhook = { url: receiver?.url, events: ['*'], ...more };
  const { body } = await client.expect<{ id: string }>(201, 'POST', '/v1/webhooks', webhook);
  return body.id;
}

async function startApi(folder: string) {
  const api = start(folder, 'api');
  const client = new ApiClient(await addressOf(api), apiKey);
  await client.waitUntilReady();
  return { process: api, client };
}

async function startWorker(folder: string): Promise<ManagedProcess> {
  const worker = start(folder, 'worker');
  await addressOf(worker);
  return worker;
}

function start(folder: string, app: 'api' | 'worker'): ManagedProcess {
  const started = new ManagedProcess(join(folder, 'apps', app, 'dist/main.js'), {
    ...testSettings(redis.url, apiKey),
    JOB_LOCK_DURATION: '2s',
    RETRY_SCHEDULE: Array(30).fill('300ms').join(),
  });
  processes.push(started);
  return started;
}
