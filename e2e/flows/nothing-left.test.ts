import { scopes } from '@hookferry/core/domain/account';
import { keys, queueKeysOf } from '@hookferry/core/domain/keys';
import { EVENTS_QUEUE } from '@hookferry/core/domain/queues';
import { createClosables } from '@hookferry/core/testing/closables';
import { Queue } from 'bullmq';
import { ApiClient } from '../support/api-client';
import { readDatabase } from '../support/read-database';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const ACCOUNT = 'acme-3e';
const GROUPS = 3;
const AT_ONCE = 12;
const CODE = 'export default ({ event }) => ({ body: event });';
/**
 * BullMQ's own record of what went through a queue; the ids that are taken; how often a host was asked for something, for an hour at most;
 * that the operator has erased the account.
 */
const MAY_STAY =
  /^(bull:[a-z-]+:events|bull:gates:.*|erased-accounts:.*|(unproven-requests|confirmations):.*|audit-log:[{]default[}])$/;
const SINCE = { since: '2026-01-01T00:00:00Z' };

async function startReceiver(...args: Parameters<typeof Receiver.start>): Promise<Receiver> {
  const receiver = await Receiver.start(...args);
  willClose({ close: () => receiver.stop() });
  return receiver;
}

/** Webhooks of each kind at receivers that accept, fail, and do not respond; each once more, and disabled. */
async function registerAll(acme: ApiClient): Promise<readonly string[]> {
  const [good, bad, silent] = await Promise.all([
    startReceiver(),
    startReceiver(() => 500),
    startReceiver(() => 'never'),
  ]);
  const auth = { type: 'oauth2', token_url: bad.url, client_id: 'me', client_secret: 'a secret' };
  const batch = { max_events: 10, max_wait_ms: 100 };
  const kinds: readonly (readonly [string, object])[] = [
    [good.url, { rate_limit: 1, signing: 'ed25519' }],
    [good.url, { auth }],
    [good.url, { ordering: 'group', coalesce: { window_ms: 3_600_000 } }],
    [good.url, { batch: { max_events: 100, max_wait_ms: 60_000 } }],
    ...[good, bad, silent].flatMap(({ url }) =>
      [
        {},
        { batch },
        { ordering: 'strict' },
        { ordering: 'strict', batch },
        { ordering: 'group' },
        { ordering: 'group', batch: { max_events: 10 } },
      ].map((options) => [url, options] as const),
    ),
  ];
  const registered = kinds.map(async ([url, options], i) => {
    const { id } = await acme.register(url, ['*'], { ...options, uid: `used-${i}`, timeout_ms: 1_000 });
    const disabled = await acme.register(url, ['*'], options);
    await acme.expect(200, 'POST', `/v1/webhooks/${disabled.id}/disable`);
    return [id, disabled.id];
  });
  return (await Promise.all(registered)).flat();
}

async function publishSome(acme: ApiClient): Promise<void> {
  for (let i = 0; i < AT_ONCE; i += 1) {
    const event = { ...QUICK_WIN, group: `order ${i % GROUPS}`, id: `used-${Date.now()}-${i}` };
    await acme.expect(202, 'POST', '/v1/events', event, { 'idempotency-key': event.id });
  }
}

/** An account that uses everything, with deliveries that wait for all there is to wait for. */
class UsedAccount {
  webhooks: readonly string[] = [];
  /** All names of keys that there were with an id of it. */
  readonly seen = new Set<string>();
  readonly #others = [ACCOUNT];

  private constructor(
    readonly stack: Stack,
    readonly client: ApiClient,
  ) {}

  static async start(): Promise<UsedAccount> {
    const environment = { RETRY_SCHEDULE: '1s,1s', PUBLIC_URL: 'https://hooks.example.com' };
    const stack = await Stack.start({ environment });
    willClose({ close: () => stack.stop() });
    await stack.client.expect(201, 'POST', '/v1/accounts', { id: ACCOUNT, weight: 2 });
    const wish = { name: 'everything', scopes: scopes.filter((scope) => scope !== 'accounts:act') };
    const act = { 'x-account-id': ACCOUNT };
    const { body } = await stack.client.expect<Made>(201, 'POST', '/v1/api-keys', wish, act);
    const used = new UsedAccount(stack, new ApiClient(stack.client.baseUrl, String(body.key)));
    used.#others.push(body.id);
    await used.#use();
    return used;
  }

  /** All that has an id of it, by its name; of keys of others that have one in what they hold, too. */
  async find(): Promise<readonly [string, unknown][]> {
    const database = JSON.parse(await readDatabase(this.stack.redis.client)) as [string, unknown][];
    return database.filter((entry) => this.#ids.some((id) => JSON.stringify(entry).includes(id)));
  }

  /** The names of those that do not expire. */
  async keptNames(): Promise<readonly string[]> {
    const { client } = this.stack.redis;
    const names = (await client.keys('*')).filter((name) => this.#isOurs(name));
    const kept = await Promise.all(
      names.map(async (name) => ((await client.ttl(name)) === -1 ? [name] : [])),
    );
    return kept.flat().toSorted();
  }

  get #ids(): readonly string[] {
    return [...this.#others, ...this.webhooks];
  }

  #isOurs(name: string): boolean {
    return this.#ids.some((id) => name.includes(id));
  }

  async #make(status: number, path: string, body: object): Promise<void> {
    const made = await this.client.expect<Made>(status, 'POST', path, body);
    this.#others.push(made.body.id);
  }

  async #use(): Promise<void> {
    const { client, stack } = this;
    this.webhooks = await registerAll(client);
    const [first = '', ordered = ''] = this.webhooks;
    await client.expect(201, 'PUT', `/v1/webhooks/${first}/transformation`, { code: CODE, enabled: true });
    await this.#make(201, '/v1/contacts', { type: 'webhook', url: 'http://127.0.0.1:4999/told' });
    await this.#make(201, '/v1/portal-sessions', {});
    await this.#make(201, '/v1/listeners', { name: 'laptop' });
    const deliver_at = new Date(Date.now() + 3_600_000).toISOString();
    await client.expect(202, 'POST', '/v1/events', { ...QUICK_WIN, deliver_at, webhook_ids: [first] });
    const queue = willClose(new Queue(EVENTS_QUEUE, { connection: stack.redis.client }));
    await queue.add('no.such_event', { account_id: ACCOUNT, type: 'no.such_event', data: {} });
    await publishSome(client);
    await this.#make(202, `/v1/webhooks/${first}/replays`, { ...SINCE, mode: 'all', rate: 1 });
    await this.#untilListed('status=exhausted');
    // What is held there has jobs of its own, beside the lane.
    await this.#untilListed(`webhook_id=${ordered}&status=held`);
    await client.expect(200, 'PATCH', `/v1/webhooks/${ordered}`, { ordering: 'strict' });
    await publishSome(client);
    await this.#note();
  }

  async #untilListed(query: string): Promise<void> {
    await until(async () => {
      await this.#note();
      const path = `/v1/deliveries?limit=1&${query}`;
      const { body } = await this.client.expect<{ data: readonly object[] }>(200, 'GET', path);
      return body.data.length > 0 ? true : undefined;
    });
  }

  async #note(): Promise<void> {
    for (const name of await this.stack.redis.client.keys('*')) if (this.#isOurs(name)) this.seen.add(name);
  }
}

interface Made {
  readonly id: string;
  readonly key?: string;
}

/** Keys that an account need not have had here. A new one belongs here only if the account can't be made to have it. */
const NOT_USED: Readonly<Record<string, readonly string[]>> = {
  'of all, of a host or of a process': [
    ...[
      'requestedVerifications',
      'accountLoads',
      'waitingAudit',
      'mailbox',
      'writeCheck',
      'epoch',
      'fairOrder',
    ],
    ...['ofAnyEvent', 'deliveryPrefix'],
  ],
  'of the former order': ['orderWaiting', 'turn', 'ready', 'coalescing'],
  'of a history, or while queues are split again': [
    ...[
      'keptLonger',
      'lapsing',
      'moved',
      'movedUntil',
      'attemptsMovedUntil',
      'pinned',
      'pinnedEvent',
      'movedIds',
    ],
    'sending',
  ],
  'for moments, or of settings that are not set': [
    ...['apiKeysLeaving', 'rateLimit', 'quota', 'auditRefusals', 'listener', 'changes', 'lanesLook', 'lanes'],
    ...['carried', 'putBackEvents', 'replayed'],
  ],
};

/** The functions for names of keys that have made none of these. */
function unusedOf(seen: ReadonlySet<string>): readonly string[] {
  const functions = Object.entries({ ...keys, ...queueKeysOf('bull') }).flatMap(([name, keyOf]) =>
    typeof keyOf === 'function' ? [[name, keyOf as (...ids: string[]) => string] as const] : [],
  );
  const unused = functions.filter(([, keyOf]) => {
    const parts = keyOf('\0', '\0')
      .split('\0')
      .map((part) => part.replace(/[\^$.*+?()[\]{}|]/g, '\\$&'));
    const form = new RegExp(`^${parts.join('[^:]+')}$`);
    return ![...seen].some((name) => form.test(name));
  });
  return unused.map(([name]) => name);
}

it('an account that is erased leaves nothing, whatever it used', async () => {
  const used = await UsedAccount.start();
  const excused = new Set(Object.values(NOT_USED).flat());
  expect(unusedOf(used.seen).filter((name) => !excused.has(name))).toEqual([]);
  const { client } = used.stack;
  await client.expect(202, 'DELETE', `/v1/accounts/${ACCOUNT}`);
  await until(async () => {
    const { status } = await client.request('GET', `/v1/accounts/${ACCOUNT}`);
    return status === 404 ? true : undefined;
  });
  const left = await used.find();
  expect(left.map(([name]) => name).filter((name) => !MAY_STAY.test(name))).toEqual([]);
}, 300_000);

it('a webhook that is deleted leaves nothing that does not expire, whatever it used', async () => {
  const used = await UsedAccount.start();
  for (const id of used.webhooks) await used.client.expect(204, 'DELETE', `/v1/webhooks/${id}`);
  const namesLeft = async () =>
    (await used.keptNames()).filter((name) => used.webhooks.some((id) => name.includes(id)));
  await until(async () => ((await namesLeft()).length === 0 ? true : undefined)).catch(() => {});
  expect(await namesLeft()).toEqual([]);
}, 300_000);
