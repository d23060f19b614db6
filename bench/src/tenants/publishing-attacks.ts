import { EVENT_TYPE } from '../traffic/event-text';
import type { Attack } from './attack';
import { attackerHeaders, batchOf, LARGEST_BATCH, registerMany, type World } from './world';

const AT_ONCE = 16;
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
