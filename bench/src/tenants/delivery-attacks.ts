/** Attacks by what any account may have done for it: deliveries, code, replays and contacts. */
import { EVENT_TYPE, textOf } from '../traffic/events';
import { ATTACKER, type Attack, type World } from './world';

// MAX_WEBHOOKS.
export const WEBHOOKS = 500;
export const FAT_METADATA = Object.fromEntries(
  Array.from({ length: 50 }, (_, i) => [`member-${i}`, 'm'.repeat(500)]),
);

const DELIVERIES_AT_ONCE = 8;
const BURST_EVENTS = 20_000;
const HANGING = 100;
const TRANSFORMED = 20;
const SAVED_AT_ONCE = 120;
const REPLAYED_EVENTS = 5_000;
const CONTACTS = 20;

const TRIVIAL = 'export default ({ data }) => ({ body: data });';
/** Each breaks something else: what makes JSON, the memory, the thread. */
const BREAKING = [
  'Array.prototype.toJSON = Object.prototype.toJSON = () => undefined; export default () => ({ body: [] });',
  'export default () => { const a = []; for (;;) a.push(new ArrayBuffer(1024 * 1024)); };',
  'export default () => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);',
];

export const deliveryAttacks: Readonly<Record<string, Attack>> = {
  'fat-patches': {
    name: 'changes of webhooks with fat metadata, an event after each',
    async prepare(world) {
      const ids = await world.register(10, { metadata: FAT_METADATA });
      const patch = { metadata: FAT_METADATA, description: 'changed %i' };
      return {
        requests: ids.flatMap((id) => [world.request('PATCH', `/v1/webhooks/${id}`, patch), anEvent(world)]),
      };
    },
  },

  replays: {
    name: `replays of ${REPLAYED_EVENTS} events, and counts of them, as many as are taken`,
    async prepare(world) {
      const [id] = await world.register(1);
      await world.publish(REPLAYED_EVENTS);
      await world.untilDelivered(REPLAYED_EVENTS);
      const order = { since: '2020-01-01T00:00:00Z', mode: 'all', rate: 1_000 };
      return {
        requests: [true, false].map((dry_run) =>
          world.request('POST', `/v1/webhooks/${id}/replays`, { ...order, dry_run }),
        ),
        atOnce: DELIVERIES_AT_ONCE,
      };
    },
  },

  // Held for a webhook that is disabled, and let go of all at once: no limit of requests is in its way.
  burst: {
    name: `a burst of ${BURST_EVENTS} at one endpoint`,
    async prepare(world) {
      const [id] = await world.register(1, { status: 'disabled' });
      await world.publish(BURST_EVENTS);
      return { requests: [world.request('POST', `/v1/webhooks/${id}/enable`, {})], atOnce: 1, most: 1 };
    },
  },

  hanging: {
    name: `events for ${HANGING} endpoints that never answer`,
    async prepare(world) {
      await world.register(HANGING, {}, 'hang');
      return { requests: [anEvent(world)], atOnce: 1 };
    },
  },

  'fan-out': {
    name: `events for ${WEBHOOKS} endpoints each`,
    async prepare(world) {
      await world.register(WEBHOOKS);
      return { requests: [anEvent(world)], atOnce: DELIVERIES_AT_ONCE };
    },
  },

  transformations: {
    name: `events for ${TRANSFORMED} endpoints whose code takes all of its time`,
    async prepare(world) {
      const ids = await world.register(TRANSFORMED);
      await world.service.transform(ATTACKER, ids, 'export default () => { for (;;); }');
      return { requests: [anEvent(world)], atOnce: 1 };
    },
  },

  'broken-code': {
    name: `events for ${TRANSFORMED} endpoints whose code breaks what it runs in, beside other code`,
    victim: { code: TRIVIAL },
    async prepare(world) {
      const ids = await world.register(TRANSFORMED);
      for (const [i, id] of ids.entries())
        await world.service.transform(ATTACKER, [id], BREAKING[i % BREAKING.length] ?? TRIVIAL);
      return { requests: [anEvent(world)], atOnce: 1 };
    },
  },

  'code-pool': {
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
          body: JSON.stringify({ code: TRIVIAL, event_type: EVENT_TYPE }),
        },
      ],
    },
    async prepare(world) {
      const [id] = await world.register(1);
      const body = { code: `// %i\nfor (;;);\n${TRIVIAL}` };
      return {
        requests: [world.request('PUT', `/v1/webhooks/${id}/transformation`, body)],
        atOnce: SAVED_AT_ONCE,
      };
    },
  },

  // As many as an account may have, at a server that never answers; made, changed, asked again and listed without a pause.
  contacts: {
    name: `${CONTACTS} contacts that never answer, made, changed, asked again and listed`,
    async prepare(world) {
      const contactAt = (i: number | string) => ({ type: 'webhook', url: world.urlOf('hang', i) });
      const made = await Promise.all(
        Array.from({ length: CONTACTS }, (_, i) =>
          world.service.ask(ATTACKER, 'POST', '/v1/contacts', contactAt(i)),
        ),
      );
      return {
        requests: [
          world.request('POST', '/v1/contacts', contactAt('again=%i')),
          world.request('GET', '/v1/contacts'),
          world.request('GET', '/v1/notifications?limit=200'),
          ...made.flatMap(({ id }) => [
            world.request('POST', `/v1/contacts/${String(id)}/ask-again`, {}),
            world.request('PATCH', `/v1/contacts/${String(id)}`, { digest: 'hourly' }),
          ]),
        ],
      };
    },
  },
};

function anEvent(world: World) {
  return world.request('POST', '/v1/events', textOf(1));
}
