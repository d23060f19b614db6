/** Attacks by requests themselves: how large, how many, how dear to answer they are. */
import { EVENT_TYPE } from '../traffic/events';
import type { RequestTemplate } from './attacker';
import { deliveryAttacks, FAT_METADATA, WEBHOOKS } from './delivery-attacks';
import { ATTACKER, type Attack, attackerHeaders, batchOf, LARGEST_BATCH, type World } from './world';

// A little less than MAX_EVENT_BYTES.
const LARGEST_EVENT = 250_000;
const LARGEST_BODY = 5 * 1024 * 1024;
// A thousand times smaller when compressed.
const INFLATED_BYTES = 50_000_000;
const KEYS = 20;
const CUSTOM_TYPE = 'tenants.worst';
const LOGO_BYTES = 32 * 1024;
const CONNECTIONS = 2_000;
const STREAMING_ACCOUNTS = 4;
// Of an account in each process.
const MOST_STREAMS = 20;
const BEHIND = 30;
const PIPELINED_STREAMS = 8;
const UNREAD_WEBHOOKS = 200;
// As many as are taken: with more there would be a new connection each time.
const UNREAD = 17;
const EVENTS_TO_ALL = 20;
const EXPORTED_EVENTS = 10_000;
const SEARCHED_TYPE = 'tenants.searched';
const SEARCHED = 15;
const LISTS = 70_000;

const requestAttacks: Readonly<Record<string, Attack>> = {
  batches: {
    name: `batches of ${LARGEST_BATCH} by ${KEYS} keys`,
    async prepare(world) {
      await world.register(1);
      const keys = await Promise.all(Array.from({ length: KEYS }, () => attackerHeaders(world.service)));
      const request = world.request('POST', '/v1/events/batch', { events: batchOf(LARGEST_BATCH) });
      return { requests: keys.map((headers) => ({ ...request, headers })) };
    },
  },

  compressed: {
    name: 'small bodies that are huge when inflated',
    prepare(world) {
      const body = `{"type":"${EVENT_TYPE}","data":{"keyword":"${'a'.repeat(INFLATED_BYTES)}"}}`;
      const requests = ['/v1/events', '/v1/events/batch'].map((path) => world.request('POST', path, body));
      return { requests: requests.map((request) => ({ ...request, isCompressed: true })) };
    },
  },

  'deep-json': {
    name: 'data as deep as an event is long',
    async prepare(world) {
      await world.register(1);
      const levels = LARGEST_EVENT / 2;
      const data = `${'['.repeat(levels)}${']'.repeat(levels)}`;
      return {
        requests: [
          world.request('POST', '/v1/events', `{"type":"${EVENT_TYPE}","data":{"keyword":${data}}}`),
        ],
      };
    },
  },

  'many-items': {
    name: 'data of as many items as an event has room for',
    async prepare(world) {
      await world.register(1);
      const items = Array.from({ length: LARGEST_EVENT / 12 }, (_, i) => `"k${i}":0`).join(',');
      return {
        requests: [world.request('POST', '/v1/events', `{"type":"${EVENT_TYPE}","data":{${items}}}`)],
      };
    },
  },

  'webhook-ids': {
    name: 'as many webhook_ids as a request has room for',
    async prepare(world) {
      const known = await world.register(1);
      const unknown = (count: number) => Array.from({ length: count }, (_, i) => `u${i}`);
      const event = (webhook_ids: readonly string[]) => ({
        type: EVENT_TYPE,
        data: { keyword: 'event 1', position: 1, volume: 1 },
        webhook_ids,
      });
      const events = Array.from({ length: LARGEST_BATCH }, () => event([...known, ...unknown(99)]));
      return {
        requests: [
          world.request('POST', '/v1/events', event(unknown(LARGEST_EVENT / 10))),
          world.request('POST', '/v1/events/batch', { events }),
        ],
      };
    },
  },

  'filtered-lists': {
    name: `lists that choose none of ${WEBHOOKS} webhooks with fat metadata`,
    async prepare(world) {
      await world.register(WEBHOOKS, { metadata: FAT_METADATA });
      return reading(world, [
        '/v1/webhooks?status=disabled&limit=200',
        '/v1/webhooks?event_type=brief.created&limit=1',
        '/v1/webhooks?limit=200',
      ]);
    },
  },

  'idempotent-answers': {
    name: 'answers of batches kept under ever new Idempotency-Keys',
    prepare(world) {
      const request = world.request('POST', '/v1/events/batch', { events: batchOf(LARGEST_BATCH) });
      return { requests: [{ ...request, headers: { ...request.headers, 'idempotency-key': 'once-%i' } }] };
    },
  },

  // As dear as an operator's schema may make an event of a client's.
  schemas: {
    name: 'events that are dear to check by a custom schema',
    async prepare(world) {
      const schema = {
        type: 'object',
        properties: {
          list: { type: 'array', uniqueItems: true, items: { type: 'array' } },
          texts: { type: 'array', items: { type: 'string', pattern: '^(a+)+(b|c)*$' } },
        },
      };
      const description = { description: 'For a benchmark.', schema, example: { list: [] } };
      await world.service.ask('default', 'PUT', `/v1/event-types/${CUSTOM_TYPE}`, description);
      const list = Array.from({ length: LARGEST_EVENT / 20 }, (_, i) => [i]);
      const texts = [`${'a'.repeat(LARGEST_EVENT / 2)}!`];
      return {
        requests: [{ list }, { texts }].map((data) =>
          world.request('POST', '/v1/events', { type: CUSTOM_TYPE, data }),
        ),
      };
    },
  },

  // Each from an address of its own, so that no address fails too often.
  'wrong-keys': {
    name: 'wrong keys, each from another address',
    prepare(world) {
      const authorization = `Bearer whk_0123456789abcdef_%i${'a'.repeat(43)}`;
      const headers = { authorization, 'x-forwarded-for': '2001:db8:%i::1' };
      return { requests: [{ ...world.request('GET', '/v1/webhooks'), headers }] };
    },
  },

  'event-details': {
    name: `lists and details of events with ${WEBHOOKS} deliveries each`,
    async prepare(world) {
      await world.register(WEBHOOKS);
      const ids = await world.publish(EVENTS_TO_ALL);
      await world.untilDelivered(EVENTS_TO_ALL * WEBHOOKS);
      const details = ids.flatMap((id) => [`/v1/events/${id}`, `/v1/events/${id}/deliveries?limit=200`]);
      return reading(world, ['/v1/events?limit=200', ...details]);
    },
  },

  exports: {
    name: `exports of ${EXPORTED_EVENTS} deliveries, and lists of them`,
    async prepare(world) {
      const [id] = await world.register(1);
      await world.publish(EXPORTED_EVENTS);
      await world.untilDelivered(EXPORTED_EVENTS);
      return reading(world, [
        '/v1/deliveries/export',
        `/v1/webhooks/${id}/deliveries?limit=200&status_class=4xx`,
        `/v1/webhooks/${id}/deliveries?limit=200`,
      ]);
    },
  },

  'half-requests': {
    name: `${CONNECTIONS} connections with half a request each`,
    prepare: () => ({ connections: CONNECTIONS }),
  },

  'portal-sessions': {
    name: 'portal sessions with the largest logos, as many as are taken',
    prepare(world) {
      const logo = `data:image/png;base64,${'A'.repeat(LOGO_BYTES - 24)}`;
      const body = { expires_in_seconds: 86_400, theme: { logo } };
      return { requests: [world.request('POST', '/v1/portal-sessions', body)] };
    },
  },

  // They are all there when their keys are revoked, and come back as clients do that do not understand.
  'revoked-streams': {
    name: `${STREAMING_ACCOUNTS * MOST_STREAMS} streams of keys that are revoked`,
    async prepare(world) {
      const keys = await Promise.all(
        Array.from({ length: STREAMING_ACCOUNTS }, (_, i) => issueRevocable(world, i)),
      );
      const streams = keys.flatMap(({ headers }) =>
        Array.from({ length: MOST_STREAMS }, () => ({ ...world.request('GET', '/v1/stream'), headers })),
      );
      const revocations = keys.map(({ id, headers }) => ({
        ...world.request('DELETE', `/v1/api-keys/${id}?last=true`),
        headers,
      }));
      const requests = [...streams, ...revocations];
      // Each comes back once: clients wait for seconds before they do so again.
      return { requests, atOnce: requests.length, most: requests.length * 2 };
    },
  },

  // Each connection in one write of a few KB.
  'behind-streams': {
    name: `${BEHIND} lists behind a stream, on one connection, ${PIPELINED_STREAMS} times`,
    prepare(world) {
      const stream = world.request('GET', '/v1/stream?max_seconds=600');
      const list = world.request('GET', '/v1/webhooks?limit=1');
      const requests = [stream, ...Array.from({ length: BEHIND }, () => list)];
      return { requests: [list], atOnce: 1, ahead: { connections: PIPELINED_STREAMS, requests } };
    },
  },

  'unread-lists': {
    name: 'answers of megabytes that nobody reads',
    async prepare(world) {
      await world.register(UNREAD_WEBHOOKS, { metadata: FAT_METADATA });
      const list = world.request('GET', `/v1/webhooks?limit=${UNREAD_WEBHOOKS}`);
      return { ahead: { connections: 20, requests: [list] } };
    },
  },

  'unread-docs': {
    name: `400 connections with ${UNREAD} unread answers of /openapi.json each, without a key`,
    prepare() {
      const description: RequestTemplate = { method: 'GET', path: '/openapi.json', headers: {} };
      return { ahead: { connections: 400, requests: Array.from({ length: UNREAD }, () => description) } };
    },
  },

  'padded-batches': {
    name: 'batches as long as may be, of white space, strings, escapes, numbers and names',
    async prepare(world) {
      await world.register(1);
      const room = LARGEST_BODY - 1_000;
      const [event = ''] = batchOf(1).map((each) => JSON.stringify(each));
      const data = (text: string) => `{"type":"${EVENT_TYPE}","data":${text}}`;
      const values = 149_000;
      const events = [
        event + ' '.repeat(room),
        Array.from({ length: LARGEST_BATCH }, () =>
          event.replaceAll(/[{}:,]/g, (mark) => mark + ' '.repeat(room / LARGEST_BATCH / 20)),
        ).join(','),
        data(`"${'x'.repeat(room)}"`),
        data(`"${'\\"'.repeat(room / 2)}"`),
        data(`[${'1,'.repeat(values)}1]`),
        data(`{${Array.from({ length: values }, (_, i) => `"${String(i).padEnd(30, 'n')}":0`).join(',')}}`),
      ];
      return {
        requests: events.map((text) => world.request('POST', '/v1/events/batch', `{"events":[${text}]}`)),
        atOnce: 3,
      };
    },
  },

  // Each event takes a second of processor time if nothing bounds it.
  search: {
    name: `searches with the worst pattern in ${SEARCHED} events of ${LISTS} lists`,
    async prepare(world) {
      await world.register(1);
      await publishLists(world);
      // The largest pattern that is taken, and one that is refused.
      const patterns = [4, 240].map((count) => ({ a: Array.from({ length: count }, () => [1]) }));
      const paths = patterns.flatMap((pattern) => {
        const data = encodeURIComponent(JSON.stringify(pattern));
        return [`/v1/events?data=${data}`, `/v1/deliveries?data=${data}`];
      });
      return { ...reading(world, paths), atOnce: 8 };
    },
  },

  // If it came to PostgreSQL, it would close a connection each time.
  nul: {
    name: 'filters with NUL, with a history',
    hasHistory: true,
    // PostgreSQL is asked for it, and has none.
    victim: { readsOf: () => [{ method: 'GET', path: '/v1/events?until=2020-01-01T00:00:00Z' }] },
    prepare: (world) =>
      reading(world, [
        '/v1/events?type=a%00b',
        '/v1/deliveries?event_type=%00',
        '/v1/metrics/deliveries?event_type=%00',
      ]),
  },
};

function reading(world: World, paths: readonly string[]) {
  return { requests: paths.map((path) => world.request('GET', path)) };
}

/** A key of an account of its own, which can revoke itself. */
async function issueRevocable({ service }: World, i: number) {
  const account = `streaming-${i}`;
  await service.createAccount(account);
  const wish = { name: 'benchmark', scopes: ['deliveries:read', 'admin'] };
  const { id, key } = await service.ask(account, 'POST', '/v1/api-keys', wish);
  const headers = { authorization: `Bearer ${String(key)}`, 'x-forwarded-for': `198.51.100.${i + 2}` };
  return { id: String(id), headers };
}

async function publishLists({ service }: World): Promise<void> {
  const description = { description: 'For a benchmark.', schema: { type: 'object' }, example: {} };
  await service.ask('default', 'PUT', `/v1/event-types/${SEARCHED_TYPE}`, description);
  const data = { a: [...Array.from({ length: LISTS }, () => []), [1]] };
  for (let i = 0; i < SEARCHED; i += 1)
    await service.ask(ATTACKER, 'POST', '/v1/events', { type: SEARCHED_TYPE, data });
}

/** All attacks, by the names that the command line knows them by. */
export const attacks: ReadonlyMap<string, Attack> = new Map(
  Object.entries({ ...requestAttacks, ...deliveryAttacks }),
);
