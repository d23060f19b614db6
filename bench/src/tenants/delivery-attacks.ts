import { textOf } from '../traffic/event-text';
import type { Attack } from './attack';
import { attackerHeaders, publishBefore, registerMany, type World } from './world';

const AT_ONCE = 8;
const BURST_EVENTS = 20_000;
// MAX_WEBHOOKS.
const WEBHOOKS = 500;
const HANGING = 100;
const REPLAYED_EVENTS = 5_000;
const DELIVERED_WITHIN_MS = 60_000;

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
    return await publishing(world, AT_ONCE);
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
      atOnce: AT_ONCE,
    };
  },
};

async function publishing(world: World, atOnce: number) {
  const headers = await attackerHeaders(world);
  return { requests: [{ method: 'POST', path: '/v1/events', headers, body: textOf(1) }], atOnce } as const;
}
