import { letLapse } from '@hookferry/core/testing/let-lapse';
import { hasPostgres, NO_POSTGRES } from '@hookferry/core/testing/postgres-server';
import type { ApiClient } from '../support/api-client';
import { type ReceivedRequest, Receiver, type Reply } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

/*
 * Every kind of event and delivery that there is, read by every route that shows it: before it moves to the
 * history, and after. All members are the same.
 */

if (!hasPostgres) console.warn(`SKIPPED: what routes show before and after a move, because ${NO_POSTGRES}.`);

const OF_WHAT_IS_OVER = [
  'event',
  'receivers',
  'events',
  'deliveries',
  'delivery',
  'moved',
  'over',
  'scheduled-for',
];
const STATUSES = ['delivered', 'exhausted', 'aborted', 'cancelled', 'superseded', 'pending', 'held'];
const OUTCOMES = ['delivered', 'http_4xx', 'http_5xx', 'token_error', 'transform_error', 'rejected_in_batch'];

const TRANSFORMATION = `export default ({ data }) => {
  if (data.keyword === 'cancel') return { cancel: true };
  if (data.keyword === 'break') throw new Error('It can not be made.');
  return { body: { text: data.keyword }, headers: { 'x-kind': 'made' } };
};`;

/** By the path of the webhook. */
function respond({ path, headers, body }: ReceivedRequest, seen: Set<string>): Reply {
  const id = String(headers['webhook-id']);
  const isFirst = seen.size < seen.add(`${path} ${id}`).size;
  if (path.endsWith('/flaky') && isFirst) return { status: 503, body: 'not \u0000 yet "\u{1f680}"' };
  if (path.endsWith('/failing')) return { status: 500, headers: { 'x-more': 'much' }, body: 'oh no' };
  if (path.endsWith('/gone')) return { status: 400, headers: { 'webhook-delivery': 'abort' } };
  if (path.endsWith('/token')) return { status: 400, body: '{"error":"invalid_client"}' };
  if (path.endsWith('/batch') && isFirst) {
    const { data } = JSON.parse(body.toString()) as { data: readonly { id: string }[] };
    return { status: 200, body: JSON.stringify({ failed: data.slice(0, 1).map((event) => event.id) }) };
  }
  return { status: 200, body: 'thanks' };
}

(hasPostgres ? describe : describe.skip)('what has moved', () => {
  let stack: Stack;
  let client: ApiClient;
  let receiver: Receiver;
  beforeAll(async () => {
    const seen = new Set<string>();
    receiver = await Receiver.start((request) => respond(request, seen));
    stack = await Stack.start({ hasHistory: true, environment: { HISTORY_MOVE_AFTER: '1h' } });
    client = stack.client;
  });
  afterAll(async () => {
    await stack.stop();
    await receiver.stop();
  });

  const webhooks = new Map<string, string>();
  async function register(path: string, options: object = {}): Promise<string> {
    const url = receiver.url.replace('/hook', `/${path}`);
    const { id } = await client.register(url, ['*'], { retry_schedule: ['50ms'], ...options });
    webhooks.set(path, id);
    return id;
  }

  async function publish(to: readonly string[], change: object = {}): Promise<string> {
    const event = { ...QUICK_WIN, webhook_ids: to, ...change };
    return (await client.expect<{ id: string }>(202, 'POST', '/v1/events', event)).body.id;
  }

  const keywordOf = (keyword: string) => ({ data: { ...QUICK_WIN.data, keyword } });

  /** Resolves with the ids of the events. */
  async function arrange(): Promise<readonly string[]> {
    await register('plain');
    await register('flaky', { headers: { 'x-own': '1' } });
    const failing = await register('failing');
    await register('gone');
    await register('binary', { format: 'cloudevents_binary' });
    await register('structured', { format: 'cloudevents_structured' });
    // So few that its breaker stays closed.
    const all = [...webhooks.values()].filter((id) => id !== failing);
    const batch = await register('batch', { batch: { max_events: 10, max_wait_ms: 300 } });
    const token_url = receiver.url.replace('/hook', '/token');
    const auth = { type: 'oauth2', token_url, client_id: 'me', client_secret: 'a secret' };
    const tokenless = await register('tokenless', { auth });
    const made = await register('made');
    await client.expect(201, 'PUT', `/v1/webhooks/${made}/transformation`, {
      code: TRANSFORMATION,
      enabled: true,
    });
    const coalesced = await register('coalesced', { ordering: 'group', coalesce: { window_ms: 500 } });
    const deleted = await register('deleted');
    await client.expect(200, 'POST', `/v1/webhooks/${deleted}/disable`);

    const ids = [
      await publish([failing, ...all]),
      await publish([failing, ...all], { ...keywordOf('weird'), id: 'own-id' }),
      await publish([...all, made], { ...keywordOf('a\u0000b \ud800'), group: 'order ü 1' }),
      await publish([made], keywordOf('cancel')),
      await publish([made], keywordOf('break')),
      await publish([tokenless]),
      await publish([batch], { group: 'a' }),
      await publish([batch]),
      await publish([coalesced], { group: 'same' }),
      await publish([coalesced], { group: 'same' }),
      await publish([deleted]),
      await publish([made, ...all], { ...keywordOf('erased'), group: 'ü'.repeat(128) }),
      await publish(all, { deliver_at: new Date(Date.now() + 1_500).toISOString() }),
    ];
    const cancelled = await publish(all, { deliver_at: new Date(Date.now() + 3_600_000).toISOString() });
    await client.expect(204, 'DELETE', `/v1/events/${cancelled}`);
    await client.expect(204, 'DELETE', `/v1/webhooks/${deleted}`);
    return [...ids, cancelled];
  }

  async function untilAllHasEnded(ids: readonly string[]): Promise<void> {
    await until(async () => {
      const open = await Promise.all(
        ids.map(async (id) => {
          const { body } = await client.request<Shown>('GET', `/v1/events/${id}`);
          return (
            body.status === 'scheduled' || (body.deliveries?.pending ?? 0) + (body.deliveries?.held ?? 0) > 0
          );
        }),
      );
      return open.includes(true) ? undefined : true;
    });
  }

  interface Shown {
    readonly status: string;
    readonly deliveries?: Readonly<Record<string, number>>;
  }

  function pathsFor(ids: readonly string[]): readonly string[] {
    const filters = [
      ...STATUSES.map((status) => `status=${status}`),
      ...OUTCOMES.map((outcome) => `outcome=${outcome}`),
      ...['2xx', '4xx', '5xx', 'none'].map((some) => `status_class=${some}`),
      'response_status=400',
      ...[...OUTCOMES, 'failed'].map((outcome) => `attempt_outcome=${outcome}`),
      `attempted_since=${hoursFromNow(-1)}&attempted_until=${hoursFromNow(2)}`,
    ];
    const times = `since=${hoursFromNow(-1)}&until=${hoursFromNow(2)}`;
    const data = encodeURIComponent(JSON.stringify({ keyword: QUICK_WIN.data.keyword }));
    const weird = encodeURIComponent(JSON.stringify({ keyword: 'weird' }));
    const erased = encodeURIComponent(JSON.stringify({ keyword: 'erased' }));
    const anywhere = encodeURIComponent(JSON.stringify('weird'));
    return [
      ...[
        'limit=200',
        'limit=3',
        'status=accepted',
        'status=cancelled',
        'status=scheduled',
        `type=${QUICK_WIN.type}`,
      ],
      ...[data, weird, erased, anywhere, '%7B%7D'].map((pattern) => `data=${pattern}`),
    ]
      .map((query) => `/v1/events?${query}`)
      .concat(
        filters.map((filter) => `/v1/deliveries?limit=200&${filter}`),
        [data, weird, erased, anywhere].flatMap((pattern) =>
          ['', '&attempt_outcome=failed'].map((more) => `/v1/deliveries?limit=200&data=${pattern}${more}`),
        ),
        `/v1/deliveries?limit=200&event_type=${QUICK_WIN.type}&${times}`,
        ids.map((id) => `/v1/deliveries?limit=200&event_id=${id}`),
        ids.map((id) => `/v1/events/${id}`),
        ids.flatMap((id) =>
          ['', ...filters].map((filter) => `/v1/events/${id}/deliveries?limit=200&${filter}`),
        ),
        [...webhooks.values()].map((id) => `/v1/webhooks/${id}/deliveries?limit=200`),
        [...webhooks.values()].map((id) => `/v1/deliveries?limit=200&webhook_id=${id}`),
        ids.flatMap((id) => [...webhooks.values()].map((webhook) => `/v1/deliveries/${id}.${webhook}`)),
        ids.flatMap((id) =>
          [...webhooks.values()].map((webhook) => `/v1/deliveries/${id}.${webhook}/content`),
        ),
        ['webhook_id', 'event_type', 'outcome'].map(
          (by) => `/v1/metrics/deliveries?interval=1h&${times}&group_by=${by}`,
        ),
        `/v1/metrics/deliveries?interval=1h&${times}`,
        `/v1/metrics/events?interval=1h&${times}`,
        `/v1/deliveries/export`,
      );
  }

  /** Whole hours: both reads are of the same time. */
  function hoursFromNow(hours: number): string {
    return new Date(Math.floor(Date.now() / 3_600_000 + hours) * 3_600_000).toISOString();
  }

  async function readAll(from: ApiClient, paths: readonly string[]): Promise<ReadonlyMap<string, unknown>> {
    const responses = new Map<string, unknown>();
    for (const path of paths) responses.set(path, await shown(from, path));
    return responses;
  }

  async function shown(from: ApiClient, path: string): Promise<unknown> {
    const response = await from.fetch(path);
    const text = await response.text();
    if (path.endsWith('/export'))
      return text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown);
    const {
      request_id: _id,
      until: _until,
      next_cursor,
      ...body
    } = JSON.parse(text) as Record<string, unknown>;
    // What a cursor is made of is nobody's concern.
    return { status: response.status, body, hasNext: typeof next_cursor === 'string' };
  }

  it('is shown with every member that it had before', async () => {
    const ids = await arrange();
    await untilAllHasEnded(ids);

    const erased = ids.at(-3) ?? '';
    await client.expect(204, 'DELETE', `/v1/events/${erased}/payload`);
    const paths = pathsFor(ids);
    const before = await readAll(client, paths);
    expect(kindsIn(before.get('/v1/deliveries/export'))).toEqual(OUTCOMES.toSorted());
    const { pending, held, ...over } = await countsIn(before);
    expect([pending, held, Object.values(over).filter((count) => count === 0)]).toEqual([0, 0, []]);

    await stack.stopWorkers();
    await stack.startWorker({ HISTORY_MOVE_AFTER: '0s' });
    await until(async () => ((await keysLeft()).length === 0 ? true : undefined));
    // It has read nothing yet that it could remember.
    const { client: other } = await stack.startApi();
    const after = await readAll(other, paths);
    for (const path of paths) expect([path, after.get(path)]).toEqual([path, before.get(path)]);

    // What was erased before it moved is as what is erased now.
    const [first = ''] = ids;
    await other.expect(204, 'DELETE', `/v1/events/${first}/payload`);
    expect(await shown(other, `/v1/events/${first}`)).toMatchObject({ body: { data: null } });
  }, 300_000);

  const keysLeft = async () => {
    await letLapse(stack.redis.client);
    const keys = await stack.redis.client.keys('*');
    return keys.filter((key) => OF_WHAT_IS_OVER.some((name) => key.startsWith(`${name}:`)));
  };

  function kindsIn(exported: unknown): readonly string[] {
    const lines = exported as readonly { readonly attempt: { readonly outcome: string } }[];
    return [...new Set(lines.map(({ attempt }) => attempt.outcome))].toSorted();
  }

  async function countsIn(
    responses: ReadonlyMap<string, unknown>,
  ): Promise<Readonly<Record<string, number>>> {
    return Object.fromEntries(
      STATUSES.map((status) => {
        const { body } = responses.get(`/v1/deliveries?limit=200&status=${status}`) as {
          body: { data: readonly unknown[] };
        };
        return [status, body.data.length];
      }),
    );
  }
});
