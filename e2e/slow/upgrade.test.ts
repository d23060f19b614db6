import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { openTestRedis, type TestRedis } from '@hookferry/core/testing/test-redis';
import { ApiClient } from '../support/api-client';
import { ManagedProcess } from '../support/managed-process';
import { type ReceivedRequest, Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { addressOf, testSettings } from '../support/stack';
import { until } from '../support/until';

const ROOT = join(__dirname, '../..');
/** The last commit that stores records in the form before. A shallow clone does not have it: then this has nothing to try. */
const BEFORE = '86ae8b4799f4f9edfba1771c8b164806acef3368';
/** The folder of another build to upgrade from, instead of these. */
const { BUILD_BEFORE } = process.env;
const SETTINGS = { RETRY_SCHEDULE: '1s,1s,1s,1s' };
// Processes of the version before read no other form.
const FORMER = { ...SETTINGS, RECORD_FORM: 'former' };
const AT_A_TIME = 40;
const GROUPS = 5;

/** Each with its folder. From a build of this version, as `BUILD_BEFORE` may name one, the way is as good. */
const builds: readonly (readonly [string, () => string])[] =
  BUILD_BEFORE === undefined
    ? [...(hasBefore() ? [['the version before', buildBefore] as const] : []), ['this version', () => ROOT]]
    : [['another checkout', () => BUILD_BEFORE]];
const { key: apiKey } = buildApiKey();

let built: string | undefined;
let redis: TestRedis;
let receiver: Receiver;
const running = new Set<ManagedProcess>();
beforeEach(async () => {
  redis = await openTestRedis();
  receiver = await Receiver.start(replyTo);
});
afterEach(async () => {
  await Promise.all([...running].map((part) => part.end('SIGKILL')));
  running.clear();
  refused.clear();
  await receiver.stop();
  await redis.close();
});
afterAll(() => {
  if (built !== undefined) rmSync(built, { recursive: true });
});

/** What goes to `/flaky` is refused once. */
const refused = new Set<string>();
function replyTo(request: ReceivedRequest): number {
  const id = idOf(request);
  if (request.path !== '/flaky' || refused.has(id)) return 204;
  refused.add(id);
  return 503;
}

const idOf = ({ headers }: ReceivedRequest) => String(headers['webhook-id']);

/** One, or all of a batch. */
function idsOf(request: ReceivedRequest): readonly string[] {
  const id = idOf(request);
  if (!id.startsWith('batch_')) return [id];
  return (JSON.parse(request.body.toString()) as { data: { id: string }[] }).data.map((event) => event.id);
}

describe.each(builds)('upgrading from %s', (_which, folderOf) => {
  let before: string;
  beforeAll(() => {
    before = folderOf();
  }, 600_000);

  it('replaces one process after the other: nothing is lost, and nothing is sent twice', async () => {
    const published: string[] = [];
    let count = 0;
    const publish = async ({ client }: Api) => {
      for (let i = 0; i < AT_A_TIME; i += 1) {
        count += 1;
        const id = `upgrade-${count}`;
        const group = `order-${count % GROUPS}`;
        await client.expect(202, 'POST', '/v1/events', { ...QUICK_WIN, id, group });
        published.push(id);
      }
    };
    const later = async ({ client }: Api) => {
      const event = { ...QUICK_WIN, deliver_at: new Date(Date.now() + 15_000).toISOString() };
      const { body } = await client.expect<{ id: string }>(202, 'POST', '/v1/events', event);
      return body.id;
    };
    const url = receiver.url.replace('/hook', '');

    const old = await startApi(before, SETTINGS);
    const oldWorker = await start(before, 'worker', SETTINGS);
    await old.client.register(`${url}/plain`);
    await old.client.register(`${url}/strict`, ['*'], { ordering: 'strict' });
    await old.client.register(`${url}/grouped`, ['*'], { ordering: 'group' });
    await old.client.register(`${url}/flaky`);
    const batch = { max_events: 10, max_wait_ms: 100 };
    await old.client.register(`${url}/batches`, ['*'], { batch });
    const heldBatches = await old.client.register(`${url}/held-batches`, ['*'], { batch });
    const held = await old.client.register(`${url}/held`);
    const heldInOrder = await old.client.register(`${url}/held-in-order`, ['*'], { ordering: 'strict' });
    const heldInGroups = await old.client.register(`${url}/held-in-groups`, ['*'], { ordering: 'group' });
    await publish(old);
    // Whether the events that it stores name their request, it tells itself.
    const request = await requestOf(old, published[0]);
    for (const { id } of [held, heldInOrder, heldInGroups, heldBatches]) {
      await old.client.expect(200, 'POST', `/v1/webhooks/${id}/disable`, {});
    }
    const scheduled = [await later(old)];
    await publish(old);

    const former = await startApi(ROOT, FORMER);
    await Promise.all([publish(old), publish(former)]);
    scheduled.push(await later(former));
    const formerWorker = await start(ROOT, 'worker', FORMER);
    await Promise.all([publish(old), publish(former)]);
    await oldWorker.end();
    await publish(former);
    await old.api.end();

    const now = await startApi(ROOT, SETTINGS);
    const worker = await start(ROOT, 'worker', SETTINGS);
    await Promise.all([publish(former), publish(now)]);
    await former.api.end();
    await formerWorker.end();
    for (const { id } of [held, heldInOrder, heldInGroups, heldBatches]) {
      await now.client.expect(200, 'POST', `/v1/webhooks/${id}/enable`, {});
    }
    await publish(now);

    const all = [...published, ...scheduled].toSorted();
    for (const path of [
      '/plain',
      '/strict',
      '/grouped',
      '/flaky',
      '/held',
      '/held-in-order',
      '/held-in-groups',
      '/batches',
      '/held-batches',
    ]) {
      const accepted = await until(async () => {
        const ids = acceptedAt(path);
        return ids.length >= all.length ? ids : undefined;
      });
      expect({ path, ids: accepted.toSorted() }).toEqual({ path, ids: all });
    }
    // One process after the other has published these, before others did at the same time.
    const inOrder = published.slice(0, 2 * AT_A_TIME);
    for (const path of ['/strict', '/held-in-order']) {
      expect({ path, ids: acceptedAt(path).slice(0, inOrder.length) }).toEqual({ path, ids: inOrder });
    }
    for (const path of ['/grouped', '/held-in-groups']) {
      for (let group = 0; group < GROUPS; group += 1) {
        const own = inOrder.filter((_, i) => i % GROUPS === group);
        expect({ path, ids: acceptedAt(path).filter((id) => own.includes(id)) }).toEqual({
          path,
          ids: own,
        });
      }
    }
    // Events that a process of this version has stored for itself name their request.
    expect(await requestOf(now, published[0])).toBe(request);
    expect(await requestOf(now, scheduled[1])).toBeNull();
    expect(await requestOf(now, published.at(-1))).toMatch(/^req_/);
    expect(await worker.end()).toBe(0);
  }, 300_000);
});

async function requestOf({ client }: Api, id = ''): Promise<string | null> {
  const { body } = await client.expect<{ request_id?: string | null }>(200, 'GET', `/v1/events/${id}`);
  return body.request_id ?? null;
}

/** The ids of the events that were accepted there, as often as they were. */
function acceptedAt(path: string): readonly string[] {
  const ids = receiver.requests.filter((request) => request.path === path).flatMap(idsOf);
  // The first one of each was refused.
  return path === '/flaky' ? ids.filter((id, i) => ids.indexOf(id) !== i) : ids;
}

interface Api {
  readonly api: ManagedProcess;
  readonly client: ApiClient;
}

async function startApi(build: string, settings: Readonly<Record<string, string>>): Promise<Api> {
  const api = await start(build, 'api', settings);
  const client = new ApiClient(await addressOf(api), apiKey);
  await client.waitUntilReady();
  return { api, client };
}

async function start(build: string, app: string, settings: Readonly<Record<string, string>>) {
  const script = join(build, 'apps', app, 'dist/main.js');
  const part = new ManagedProcess(script, { ...testSettings(redis.url, apiKey), ...settings });
  running.add(part);
  await addressOf(part);
  return part;
}

it('is the version before that the page names', async () => {
  const page = readFileSync(join(ROOT, 'docs/upgrading.md'), 'utf8');
  expect(page).toContain(`*the version before* is every commit up to \`${BEFORE.slice(0, 12)}\``);
});

/** Compiles the version before, with the packages that are installed for this one. @returns its folder */
function buildBefore(): string {
  const folder = mkdtempSync(join(tmpdir(), 'version-before-'));
  built = folder;
  const archive = execFileSync('git', ['archive', BEFORE], { cwd: ROOT, maxBuffer: 1e9 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  mkdirSync(join(folder, 'node_modules/@hookferry'), { recursive: true });
  const installed = join(ROOT, 'node_modules');
  for (const name of readdirSync(installed))
    if (name !== '@hookferry') symlinkSync(join(installed, name), join(folder, 'node_modules', name));
  for (const name of readdirSync(join(folder, 'packages')))
    symlinkSync(join('../../packages', name), join(folder, 'node_modules/@hookferry', name));
  const nested = join(ROOT, 'packages/core/node_modules');
  if (existsSync(nested)) symlinkSync(nested, join(folder, 'packages/core/node_modules'));
  execFileSync(join(installed, '.bin/tsc'), ['-b', 'apps/api', 'apps/worker'], { cwd: folder });
  return folder;
}

function hasBefore(): boolean {
  try {
    execFileSync('git', ['cat-file', '-e', `${BEFORE}^{commit}`], { cwd: ROOT, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
