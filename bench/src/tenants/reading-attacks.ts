import { textOf } from '../traffic/event-text';
import type { Attack, AttackPlan } from './attack';
import { attackerHeaders, publishBefore, registerMany, type World } from './world';

const AT_ONCE = 16;
// MAX_WEBHOOKS.
const WEBHOOKS = 500;
const LONG = 'm'.repeat(500);
const FAT_METADATA = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`member-${i}`, LONG]));

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

const DELIVERED_WITHIN_MS = 60_000;
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
