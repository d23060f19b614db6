/** Attacks by what any account may do: publish, have it delivered, and read about it. */
import { EVENT_TYPE, textOf } from '../traffic/events';
import type { AttackPlan } from './attacker';
import {
  ATTACKER,
  type Attack,
  attackerHeaders,
  batchOf,
  LARGEST_BATCH,
  publishBefore,
  registerMany,
  type World,
} from './world';

const AT_ONCE = 16;
const DELIVERIES_AT_ONCE = 8;
const DELIVERED_WITHIN_MS = 60_000;
const KEYS = 20;
// A little less than MAX_EVENT_BYTES.
const LARGEST_EVENT = 250_000;

/** A webhook that takes everything at once. */
async function registerOne(world: World): Promise<string> {
  const [id = ''] = await registerMany(world, 1, () => ({ url: world.receiver.urlOf('ok', 'attacked') }));
  return id;
}

export const batches: Attack = {
  name: `batches of ${LARGEST_BATCH} by ${KEYS} keys`,

  async prepare(world) {
    await registerOne(world);
    const body = JSON.stringify({ events: batchOf(LARGEST_BATCH) });
    const keys = await Promise.all(Array.from({ length: KEYS }, () => attackerHeaders(world)));
    return {
      requests: keys.map((headers) => ({ method: 'POST', path: '/v1/events/batch', headers, body })),
      atOnce: AT_ONCE,
    };
  },
};

export const deepJson: Attack = {
  name: 'data as deep as an event is long',

  async prepare(world) {
    const levels = LARGEST_EVENT / 2;
    const data = `${'['.repeat(levels)}${']'.repeat(levels)}`;
    return await publishingText(world, `{"type":"${EVENT_TYPE}","data":{"keyword":${data}}}`);
  },
};

export const manyItems: Attack = {
  name: 'data of as many items as an event has room for',

  async prepare(world) {
    const items = Array.from({ length: LARGEST_EVENT / 12 }, (_, i) => `"k${i}":0`).join(',');
    return await publishingText(world, `{"type":"${EVENT_TYPE}","data":{${items}}}`);
  },
};

export const webhookIds: Attack = {
  name: 'as many webhook_ids as a request has room for',

  async prepare(world) {
    const known = await registerOne(world);
    const unknown = Array.from({ length: LARGEST_EVENT / 10 }, (_, i) => `"u${i}"`).join(',');
    const event = (ids: string) =>
      `{"type":"${EVENT_TYPE}","data":{"keyword":"event 1","position":1,"volume":1},"webhook_ids":[${ids}]}`;
    const headers = await attackerHeaders(world);
    const hundred = Array.from({ length: 99 }, (_, i) => `"u${i}"`);
    const inBatch = Array.from({ length: LARGEST_BATCH }, () => event([`"${known}"`, ...hundred].join(',')));
    return {
      requests: [
        { method: 'POST', path: '/v1/events', headers, body: event(unknown) },
        { method: 'POST', path: '/v1/events/batch', headers, body: `{"events":[${inBatch.join(',')}]}` },
      ],
      atOnce: AT_ONCE,
    };
  },
};

export const idempotentAnswers: Attack = {
  name: 'answers of batches kept under ever new Idempotency-Keys',

  async prepare(world) {
    const headers = { ...(await attackerHeaders(world)), 'idempotency-key': 'once-%i' };
    const body = JSON.stringify({ events: batchOf(LARGEST_BATCH) });
    return { requests: [{ method: 'POST', path: '/v1/events/batch', headers, body }], atOnce: AT_ONCE };
  },
};

const LARGEST_BODY = 5 * 1024 * 1024;

export const paddedBatches: Attack = {
  name: 'batches as long as may be, of white space, strings, escapes, numbers and names',

  async prepare(world) {
    await registerOne(world);
    const headers = await attackerHeaders(world);
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
      requests: events.map((text) => ({
        method: 'POST',
        path: '/v1/events/batch',
        headers,
        body: `{"events":[${text}]}`,
      })),
      atOnce: 3,
    };
  },
};

const CUSTOM_TYPE = 'tenants.worst';

/** As dear as an operator's schema may make an event of a client's. */
export const customSchemas: Attack = {
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
    const list = Array.from({ length: LARGEST_EVENT / 20 }, (_, i) => `[${i}]`).join(',');
    const texts = `"${'a'.repeat(LARGEST_EVENT / 2)}!"`;
    const headers = await attackerHeaders(world);
    return {
      requests: [`{"list":[${list}]}`, `{"texts":[${texts}]}`].map((data) => ({
        method: 'POST',
        path: '/v1/events',
        headers,
        body: `{"type":"${CUSTOM_TYPE}","data":${data}}`,
      })),
      atOnce: AT_ONCE,
    };
  },
};

async function publishingText(world: World, body: string) {
  await registerOne(world);
  const headers = await attackerHeaders(world);
  return { requests: [{ method: 'POST', path: '/v1/events', headers, body }], atOnce: AT_ONCE } as const;
}

const BURST_EVENTS = 20_000;
// MAX_WEBHOOKS.
const WEBHOOKS = 500;
const HANGING = 100;
const TRANSFORMED = 20;
const REPLAYED_EVENTS = 5_000;

/** Held for a webhook that is disabled, and let go of all at once: no limit of requests is in its way. */
export const burst: Attack = {
  name: `a burst of ${BURST_EVENTS} at one endpoint`,

  async prepare(world) {
    const webhook = { url: world.receiver.urlOf('ok', 'attacked'), status: 'disabled' };
    const [id] = await registerMany(world, 1, () => webhook);
    await publishBefore(world, BURST_EVENTS);
    const headers = await attackerHeaders(world);
    return {
      requests: [{ method: 'POST', path: `/v1/webhooks/${id}/enable`, headers, body: '{}' }],
      atOnce: 1,
      most: 1,
    };
  },
};

export const hangingEndpoints: Attack = {
  name: `events for ${HANGING} endpoints that never answer`,

  async prepare(world) {
    await registerMany(world, HANGING, (i) => ({ url: `${world.receiver.urlOf('hang', 'attacked')}?${i}` }));
    return await publishing(world, 1);
  },
};

export const fanOut: Attack = {
  name: `events for ${WEBHOOKS} endpoints each`,

  async prepare(world) {
    await registerMany(world, WEBHOOKS, (i) => ({ url: `${world.receiver.urlOf('ok', 'attacked')}?${i}` }));
    return await publishing(world, DELIVERIES_AT_ONCE);
  },
};

export const busyTransformations: Attack = {
  name: `events for ${TRANSFORMED} endpoints whose code takes all of its time`,

  async prepare(world) {
    const url = world.receiver.urlOf('ok', 'attacked');
    const ids = await registerMany(world, TRANSFORMED, (i) => ({ url: `${url}?${i}` }));
    await world.service.transform(ATTACKER, ids, 'export default () => { for (;;); }');
    return await publishing(world, 1);
  },
};

const TRIVIAL = 'export default ({ data }) => ({ body: data });';
/** Each breaks something else: what makes JSON, the memory, the thread. */
const BREAKING = [
  'Array.prototype.toJSON = Object.prototype.toJSON = () => undefined; export default () => ({ body: [] });',
  'export default () => { const a = []; for (;;) a.push(new ArrayBuffer(1024 * 1024)); };',
  'export default () => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);',
];

export const brokenCode: Attack = {
  name: `events for ${TRANSFORMED} endpoints whose code breaks what it runs in, beside other code`,
  victim: { code: TRIVIAL },

  async prepare(world) {
    const url = world.receiver.urlOf('ok', 'attacked');
    const ids = await registerMany(world, TRANSFORMED, (i) => ({ url: `${url}?${i}` }));
    for (const [i, id] of ids.entries())
      await world.service.transform(ATTACKER, [id], BREAKING[i % BREAKING.length] ?? TRIVIAL);
    return await publishing(world, 1);
  },
};

const SAVED_AT_ONCE = 120;

export const codePool: Attack = {
  name: `${SAVED_AT_ONCE} requests at once that save code which takes all of its time, beside others who save and try code`,
  victim: {
    readsOf: (webhookId) => [
      {
        method: 'PUT',
        path: `/v1/webhooks/${webhookId}/transformation`,
        body: JSON.stringify({ code: `// %i\n${TRIVIAL}` }),
      },
      {
        method: 'POST',
        path: '/v1/transformations/try',
        body: JSON.stringify({ code: TRIVIAL, type: EVENT_TYPE }),
      },
    ],
  },

  async prepare(world) {
    const id = await registerOne(world);
    const headers = await attackerHeaders(world);
    const body = JSON.stringify({ code: `// %i\nfor (;;);\n${TRIVIAL}` });
    return {
      requests: [{ method: 'PUT', path: `/v1/webhooks/${id}/transformation`, headers, body }],
      atOnce: SAVED_AT_ONCE,
    };
  },
};

export const replays: Attack = {
  name: `replays of ${REPLAYED_EVENTS} events, and counts of them, as many as are taken`,

  async prepare(world) {
    const [id] = await registerMany(world, 1, () => ({ url: world.receiver.urlOf('ok', 'attacked') }));
    await publishBefore(world, REPLAYED_EVENTS);
    await world.receiver.waitFor('attacked', REPLAYED_EVENTS, DELIVERED_WITHIN_MS);
    const headers = await attackerHeaders(world);
    const order = { since: '2020-01-01T00:00:00Z', mode: 'all', rate: 1_000 };
    const path = `/v1/webhooks/${id}/replays`;
    return {
      requests: [true, false].map((dry_run) => ({
        method: 'POST',
        path,
        headers,
        body: JSON.stringify({ ...order, dry_run }),
      })),
      atOnce: DELIVERIES_AT_ONCE,
    };
  },
};

async function publishing(world: World, atOnce: number) {
  const headers = await attackerHeaders(world);
  return { requests: [{ method: 'POST', path: '/v1/events', headers, body: textOf(1) }], atOnce } as const;
}

const LONG = 'm'.repeat(500);
export const FAT_METADATA = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`member-${i}`, LONG]));

function urlIn({ receiver }: World, i: number): string {
  return `${receiver.urlOf('ok', 'attacked')}?${i}`;
}

async function reading(world: World, paths: readonly string[]): Promise<AttackPlan> {
  const headers = await attackerHeaders(world);
  return { requests: paths.map((path) => ({ method: 'GET', path, headers })), atOnce: AT_ONCE };
}

export const filteredLists: Attack = {
  name: `lists that choose none of ${WEBHOOKS} webhooks with fat metadata`,

  async prepare(world) {
    await registerMany(world, WEBHOOKS, (i) => ({ url: urlIn(world, i), metadata: FAT_METADATA }));
    return await reading(world, [
      '/v1/webhooks?status=disabled&limit=200',
      '/v1/webhooks?event_type=brief.created&limit=1',
      '/v1/webhooks?limit=200',
    ]);
  },
};

export const fatPatches: Attack = {
  name: 'changes of webhooks with fat metadata, an event after each',

  async prepare(world) {
    const ids = await registerMany(world, 10, (i) => ({ url: urlIn(world, i), metadata: FAT_METADATA }));
    const headers = await attackerHeaders(world);
    const patch = JSON.stringify({ metadata: FAT_METADATA, description: 'changed %i' });
    return {
      requests: ids.flatMap((id) => [
        { method: 'PATCH', path: `/v1/webhooks/${id}`, headers, body: patch },
        { method: 'POST', path: '/v1/events', headers, body: textOf(1) },
      ]),
      atOnce: AT_ONCE,
    };
  },
};

const EVENTS_TO_ALL = 20;

export const eventDetails: Attack = {
  name: `lists and details of events with ${WEBHOOKS} deliveries each`,

  async prepare(world) {
    await registerMany(world, WEBHOOKS, (i) => ({ url: urlIn(world, i) }));
    const ids = await publishBefore(world, EVENTS_TO_ALL);
    await world.receiver.waitFor('attacked', EVENTS_TO_ALL * WEBHOOKS, DELIVERED_WITHIN_MS);
    return await reading(world, [
      '/v1/events?limit=200',
      ...ids.flatMap((id) => [`/v1/events/${id}`, `/v1/events/${id}/deliveries?limit=200`]),
    ]);
  },
};

const EXPORTED_EVENTS = 10_000;

export const deliveryExports: Attack = {
  name: `exports of ${EXPORTED_EVENTS} deliveries, and lists of them`,

  async prepare(world) {
    const [id] = await registerMany(world, 1, (i) => ({ url: urlIn(world, i) }));
    await publishBefore(world, EXPORTED_EVENTS);
    await world.receiver.waitFor('attacked', EXPORTED_EVENTS, DELIVERED_WITHIN_MS);
    return await reading(world, [
      '/v1/deliveries/export',
      `/v1/webhooks/${id}/deliveries?limit=200&status_class=4xx`,
      `/v1/webhooks/${id}/deliveries?limit=200`,
    ]);
  },
};
