// @ts-check
/**
 * A week in the life of a platform for shops: its event types, the webhooks of its customers, how their receivers respond, and events of
 * seven days. For pictures, and the demonstration that is kept: each webhook has a name and an address as they are in life, and fails as they do.
 */

import { createServer as createPlainServer } from 'node:http';
import { createServer } from 'node:https';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

const HOUR_MS = 3_600_000;
const DAYS = 7;
const LOOK_EVERY_MS = 200;
const BUSIEST_HOUR = 60;
/** How busy each hour of a day is, in UTC, beside the busiest. */
const BUSY = [2, 1, 1, 1, 1, 2, 4, 6, 8, 9, 10, 10, 9, 9, 9, 8, 9, 11, 14, 16, 15, 12, 8, 4].map(
  (each) => each / 16,
);
const AT_WEEKENDS = 0.6;

/**
 * How a receiver responds to an attempt: after how long, with which status, and what it says.
 * @typedef {{ status: number, ms: number, body?: string }} Response
 * @typedef {object} Shop
 * @property {string} host
 * @property {string} path
 * @property {string} description
 * @property {readonly string[]} events
 * @property {(hoursAgo: number, attempt: number, chance: number) => Response} respond `chance`: 0 to 1, by the event
 */

/** @type {readonly Shop[]} */
export const SHOPS = [
  {
    host: 'hooks.northwind.example',
    path: '/orders',
    description: 'Northwind: storefront',
    events: ['order.*', 'refund.*'],
    respond: (_, __, chance) => ({ status: 204, ms: 38 + chance * 50 }),
  },
  {
    host: 'api.lumenbooks.example',
    path: '/webhooks/stock',
    description: 'Lumen Books: stock and shipping',
    events: ['order.paid', 'order.shipped', 'refund.issued'],
    respond: (_, attempt, chance) =>
      chance < 0.09 && attempt < 3
        ? {
            status: 503,
            ms: 900 + chance * 4_000,
            body: '{"error":"The stock service is restarting. Try again in a minute."}',
          }
        : { status: 200, ms: 120 + chance * 160, body: '{"ok":true}' },
  },
  {
    host: 'erp.kestrelbikes.example',
    path: '/inbound',
    description: 'Kestrel Bikes: ERP',
    events: ['order.created', 'invoice.*'],
    // Deployed badly three days ago, and repaired two hours later.
    respond: (hoursAgo, _, chance) =>
      hoursAgo > 64 && hoursAgo < 66.5
        ? {
            status: 500,
            ms: 60 + chance * 40,
            body: "TypeError: Cannot read properties of undefined (reading 'sku')",
          }
        : { status: 200, ms: 340 + chance * 500 },
  },
  {
    host: 'collector.orchard.example',
    path: '/v2/events',
    description: 'Orchard Analytics',
    events: ['*'],
    respond: (_, __, chance) => ({ status: 202, ms: 18 + chance * 14 }),
  },
  {
    host: 'old.fennel.example',
    path: '/hook.php',
    description: 'Fennel & Co.: old shop',
    events: ['order.created'],
    // Somebody changed its secret yesterday, and not in its settings.
    respond: (hoursAgo, _, chance) =>
      hoursAgo < 26
        ? { status: 401, ms: 70 + chance * 60, body: '{"error":"The signature does not match."}' }
        : { status: 200, ms: 210 + chance * 90 },
  },
];

const string = { type: 'string' };
const order = (/** @type {Record<string, object>} */ more, /** @type {object} */ example) => ({
  schema: {
    type: 'object',
    properties: { order_id: string, ...more },
    required: ['order_id'],
  },
  example: { order_id: 'ord_48213', ...example },
});
const money = { total: { type: 'number' }, currency: string };

/** @type {Readonly<Record<string, { description: string, share: number, schema: object, example: object }>>} */
const EVENT_TYPES = {
  'order.created': {
    description: 'A customer placed an order.',
    share: 0.34,
    ...order(
      {
        customer: { type: 'object', properties: { name: string, email: string } },
        items: { type: 'integer' },
        ...money,
      },
      { customer: { name: 'Ada Marsh', email: 'ada@example.com' }, items: 3, total: 118.4, currency: 'EUR' },
    ),
  },
  'order.paid': {
    description: 'The payment for an order arrived.',
    share: 0.3,
    ...order({ ...money, method: string }, { total: 118.4, currency: 'EUR', method: 'card' }),
  },
  'order.shipped': {
    description: 'A parcel left the warehouse.',
    share: 0.2,
    ...order({ carrier: string, tracking: string }, { carrier: 'DHL', tracking: 'JD0146000041' }),
  },
  'invoice.created': {
    description: 'An invoice is ready.',
    share: 0.11,
    ...order({ invoice_id: string, ...money }, { invoice_id: 'inv_20871', total: 118.4, currency: 'EUR' }),
  },
  'refund.issued': {
    description: 'A customer got money back.',
    share: 0.05,
    ...order({ ...money, reason: string }, { total: 24.9, currency: 'EUR', reason: 'damaged' }),
  },
};

const NAMES = [
  'Ada Marsh',
  'Bruno Keller',
  'Chiara Conti',
  'Dilan Aydin',
  'Emma Lindqvist',
  'Farid Haddad',
  'Grace Okafor',
  'Hugo Moreau',
];
const CARRIERS = ['DHL', 'UPS', 'PostNord', 'GLS'];

/** Always the same for the same number: pictures of one version differ in nothing but the time. @param {number} number */
function chanceOf(number) {
  const mixed = Math.imul(number ^ (number >>> 15), 0x2c1b3c6d);
  return ((Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39) >>> 0) % 10_000) / 10_000;
}

/** The event of a number. @param {number} number @returns {{ type: string, data: object }} */
export function eventOf(number) {
  let left = chanceOf(number);
  const type =
    Object.entries(EVENT_TYPES).find(([, { share }]) => (left -= share) < 0)?.[0] ?? 'order.created';
  const pick = chanceOf(number + 7);
  const name = NAMES[Math.floor(pick * NAMES.length)] ?? '';
  const total = Math.round(900 + pick * 24_000) / 100;
  /** @type {Record<string, object>} */
  const own = {
    'order.created': {
      customer: { name, email: `${name.split(' ')[0]?.toLowerCase()}@example.com` },
      items: 1 + Math.floor(pick * 5),
      total,
      currency: 'EUR',
    },
    'order.paid': { total, currency: 'EUR', method: pick < 0.7 ? 'card' : 'transfer' },
    'order.shipped': {
      carrier: CARRIERS[Math.floor(pick * CARRIERS.length)],
      tracking: `JD01460${10_000 + number}`,
    },
    'invoice.created': { invoice_id: `inv_${20_000 + number}`, total, currency: 'EUR' },
    'refund.issued': {
      total: Math.round(total * 20) / 100,
      currency: 'EUR',
      reason: pick < 0.5 ? 'damaged' : 'too late',
    },
  };
  return { type, data: { order_id: `ord_${47_000 + number}`, ...own[type] } };
}

/** Which shops get an event. @param {string} type */
function shopsFor(type) {
  return SHOPS.map((shop, index) => ({ shop, index })).filter(({ shop }) =>
    shop.events.some(
      (wish) => wish === '*' || wish === type || (wish.endsWith('.*') && type.startsWith(wish.slice(0, -1))),
    ),
  );
}

/**
 * Receivers at the addresses of the shops: a server with certificates, and a proxy that leads there whatever the name is.
 * @param {(host: string) => { cert: string, key: string }} issue
 * @returns {Promise<{ proxyUrl: string, close(): void }>}
 */
export async function startShops(issue) {
  const certificates = issue(SHOPS.map(({ host }) => `DNS:${host}`).join(','));
  const respond = createResponder();
  const server = createServer(certificates, (request, response) => {
    respond(
      SHOPS.find(({ host }) => host === request.headers.host),
      request,
      response,
    );
  });
  const proxy = createPlainServer();
  proxy.on('connect', (_, socket) => {
    const address = server.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    const onward = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    for (const each of [onward, socket]) each.on('error', () => each.destroy());
  });
  const [, proxyUrl] = await Promise.all([server, proxy].map(listen));
  return { proxyUrl: proxyUrl ?? '', close: () => [server, proxy].forEach(closeAtOnce) };
}

/**
 * The same without certificates and names: the host of a shop begins the path.
 * @returns {Promise<{ urls: readonly string[], close(): void }>} `urls`: of the shops, in their order
 */
export async function startLocalShops() {
  const respond = createResponder();
  const server = createPlainServer((request, response) => {
    respond(
      SHOPS.find(({ host }) => request.url?.startsWith(`/${host}/`)),
      request,
      response,
    );
  });
  const url = await listen(server);
  return {
    urls: SHOPS.map(({ host, path }) => `${url}/${host}${path}`),
    close: () => closeAtOnce(server),
  };
}

function createResponder() {
  let count = 0;
  /** @type {Map<string, number>} */
  const chances = new Map();
  /**
   * @param {Shop | undefined} shop
   * @param {import('node:http').IncomingMessage} request
   * @param {import('node:http').ServerResponse} response
   */
  return (shop, request, response) => {
    const id = `${String(request.headers['webhook-id'])} ${shop?.host}`;
    const attempt = Number(request.headers['x-service-attempt'] ?? 1);
    // The same for each attempt of a delivery.
    const chance = chances.get(id) ?? chanceOf((count += 1) * 31);
    chances.set(id, chance);
    const { status, ms, body } = shop?.respond(0, attempt, chance) ?? { status: 404, ms: 1, body: '' };
    request.resume().on('end', () => {
      setTimeout(() => response.writeHead(status, { 'content-type': 'application/json' }).end(body), ms);
    });
  };
}

/** @param {import('node:http').Server} server @returns {Promise<string>} its URL */
async function listen(server) {
  await new Promise((listening) => server.listen(0, '127.0.0.1', () => listening(undefined)));
  const address = server.address();
  return `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;
}

/** @param {import('node:http').Server} server */
function closeAtOnce(server) {
  server.close();
  server.closeAllConnections();
}

/**
 * The event types of the shops, and a webhook for each.
 * @param {{ call(method: string, path: string, expectedStatus: number, body: unknown): Promise<any> }} api
 * @param {readonly string[]} urls of the shops, in their order
 * @returns {Promise<readonly string[]>} the ids of the webhooks
 */
export async function registerShops(api, urls) {
  for (const [name, { description, schema, example }] of Object.entries(EVENT_TYPES))
    await api.call('PUT', `/v1/event-types/${name}`, 201, { description, schema, example });
  /** @type {string[]} */
  const ids = [];
  for (const [i, { description, events }] of SHOPS.entries())
    ids.push((await api.call('POST', '/v1/webhooks', 201, { url: urls[i], events, description })).id);
  return ids;
}

/**
 * Puts the deliveries of the last seven days on record, by the service's own stores. If there is a history, it waits until a worker
 * has moved them there.
 * @param {object} options
 * @param {string} options.redisUrl
 * @param {readonly string[]} options.webhookIds of the shops, in their order
 * @param {boolean} options.hasHistory
 * @param {AbortSignal} options.signal
 * @param {(share: number) => void} [options.onProgress] 0 to 1, after each hour of the week
 * @returns {Promise<number>} how many events
 */
export async function fillWeek({ redisUrl, webhookIds, hasHistory, signal, onProgress = () => {} }) {
  // Not at the top of the file: they exist only once the project has been built.
  const [
    { EventStore },
    { DeliveryStore },
    { EndedList },
    { HealthStore },
    { addTallies, tallyOf },
    { createNewId },
    { atomicAsOne },
    { connectRedis },
  ] = await Promise.all([
    import('@hookferry/core/events/redis-event-store'),
    import('@hookferry/core/events/redis-delivery-store'),
    import('@hookferry/core/events/redis-ended-list'),
    import('@hookferry/core/endpoints/health/redis-health-store'),
    import('@hookferry/core/endpoints/health/attempt-tally'),
    import('@hookferry/core/platform/ids'),
    import('@hookferry/core/platform/redis-atomic'),
    import('@hookferry/core/platform/redis-connect'),
  ]);
  const redis = connectRedis({ url: redisUrl, role: 'working', name: 'pictures', emit: () => {} });
  const retention = { ageMs: 14 * 24 * HOUR_MS, count: 1_000_000 };
  const stores = {
    events: new EventStore(redis, retention),
    log: new DeliveryStore(redis, retention),
    ended: new EndedList(redis),
  };
  const atomic = atomicAsOne(redis);
  const begun = Date.now();
  const end = begun - 10 * 60_000;
  // With the midnight at which the portal's range of seven days begins: there is nothing before that it could be compared with.
  const hours = Math.floor((end - (new Date(end).setUTCHours(0, 0, 0, 0) - DAYS * 24 * HOUR_MS)) / HOUR_MS);
  /** @type {Map<any, any>} */
  const tallies = new Map();
  let now = end;
  const newId = createNewId(() => now);
  let number = 0;
  try {
    for (let hour = hours; hour > 0; hour -= 1) {
      const since = end - hour * HOUR_MS;
      const day = new Date(since).getUTCDay();
      const busy = (BUSY[new Date(since).getUTCHours()] ?? 1) * (day === 0 || day === 6 ? AT_WEEKENDS : 1);
      const events = Math.max(1, Math.round(BUSIEST_HOUR * busy * (0.85 + 0.3 * chanceOf(hour))));
      /** @type {Promise<void>[]} */
      const puts = [];
      for (let each = 0; each < events; each += 1) {
        number += 1;
        now = since + Math.floor(((each + chanceOf(number * 3)) / events) * HOUR_MS);
        puts.push(put(number, now));
      }
      await Promise.all(puts);
      signal.throwIfAborted();
      onProgress(1 - (hour - 1) / hours);
    }
    const counted = [...tallies].map(([endpointId, tally]) => ({ endpointId, tally, limit: undefined }));
    await new HealthStore(redis, retention.ageMs).addAll(counted, end);
    if (hasHistory) await untilMoved();
  } finally {
    redis.disconnect();
  }
  return number;

  async function untilMoved() {
    while ((await stores.ended.count()) > 0) await wait(LOOK_EVERY_MS, undefined, { signal });
  }

  /** @param {number} i @param {number} acceptedAt */
  async function put(i, acceptedAt) {
    const { type, data } = eventOf(i);
    const id = /** @type {any} */ (newId('evt'));
    const accountId = /** @type {any} */ ('default');
    const receivers = shopsFor(type).flatMap(({ shop, index }) => {
      const endpointId = /** @type {any} */ (webhookIds[index]);
      const facts = attemptsOf(shop, type, acceptedAt, chanceOf(i * 17 + shop.host.length));
      // Nobody makes the attempts that would be still to come.
      return facts.at(-1).attempt.startedAt > begun ? [] : [{ endpointId, facts }];
    });
    const event = { id, accountId, type, body: JSON.stringify({ type, data }), acceptedAt };
    await atomic([
      stores.events.save(
        event,
        receivers.map(({ endpointId }) => endpointId),
      ),
      stores.log.enlistAll(
        receivers.map(({ endpointId }) => ({
          accountId,
          endpointId,
          marks: [{ eventId: id, createdAt: acceptedAt }],
        })),
      ),
      stores.events.enlistAll([{ event, deliveries: receivers.length }]),
    ]);
    for (const { endpointId, facts } of receivers) {
      const parts = { eventId: id, endpointId };
      for (const fact of facts) {
        await stores.log.append(parts, fact);
        const { startedAt, durationMs, outcome, responseStatus: status } = fact.attempt;
        const at = startedAt + durationMs;
        // A webhook's own figures are of the last day; some retries are to come.
        if (at < end - 23 * HOUR_MS || at > end) continue;
        const failure = { eventId: id, number: fact.attempt.number, outcome, status };
        const failed = outcome === 'delivered' ? undefined : failure;
        const tally = tallyOf({ failed, at, durationMs });
        const known = tallies.get(endpointId);
        tallies.set(endpointId, known ? addTallies(known, tally) : tally);
      }
      if (hasHistory) await atomic([stores.ended.addAll([{ accountId, ...parts }], acceptedAt)]);
    }
  }
}

const WAITS_MS = [5_000, 300_000, 1_800_000];

/** Until one is accepted, or four were not. @param {Shop} shop @param {string} eventType @param {number} acceptedAt @param {number} chance */
function attemptsOf(shop, eventType, acceptedAt, chance) {
  /** @type {any[]} */
  const facts = [];
  let startedAt = acceptedAt + 4;
  for (let number = 1; number <= WAITS_MS.length + 1; number += 1) {
    const { status, ms, body } = shop.respond((Date.now() - startedAt) / HOUR_MS, number, chance);
    const isAccepted = status < 300;
    const waitMs = WAITS_MS[number - 1];
    const nextAttemptAt = isAccepted || waitMs === undefined ? undefined : startedAt + waitMs;
    facts.push({
      kind: 'attempted',
      attempt: {
        number,
        startedAt,
        durationMs: Math.round(ms),
        timings: { firstByteMs: Math.round(ms * 0.9) },
        outcome: isAccepted ? 'delivered' : `http_${Math.floor(status / 100)}xx`,
        responseStatus: status,
        worker: 'f00d42',
        ...(body !== undefined && { responseBody: body }),
      },
      nextAttemptAt,
      ...(number === 1 && { eventType }),
    });
    if (nextAttemptAt === undefined) break;
    startedAt = nextAttemptAt;
  }
  return facts;
}
