import type { Attack } from './attack';
import { attackerHeaders, registerMany } from './world';

const BEHIND = 30;
const STREAMS = 8;

/** Each connection in one write of a few KB. */
export const listsBehindStreams: Attack = {
  name: `${BEHIND} lists behind a stream, on one connection, ${STREAMS} times`,

  async prepare(world) {
    const headers = await attackerHeaders(world);
    const stream = { method: 'GET', path: '/v1/stream?max_seconds=600', headers } as const;
    const list = { method: 'GET', path: '/v1/webhooks?limit=1', headers } as const;
    const lists = Array.from({ length: BEHIND }, () => list);
    return {
      requests: [list],
      atOnce: 1,
      ahead: { connections: STREAMS, requests: [stream, ...lists], areRead: false },
    };
  },
};

const WEBHOOKS = 200;
const FAT_METADATA = Object.fromEntries(
  Array.from({ length: 50 }, (_, i) => [`member-${i}`, 'm'.repeat(500)]),
);

export const unreadLists: Attack = {
  name: 'answers of megabytes that nobody reads',

  async prepare(world) {
    await registerMany(world, WEBHOOKS, (i) => ({
      url: `${world.receiver.urlOf('ok', 'attacked')}?${i}`,
      metadata: FAT_METADATA,
    }));
    const headers = await attackerHeaders(world);
    const list = { method: 'GET', path: `/v1/webhooks?limit=${WEBHOOKS}`, headers } as const;
    return { requests: [], atOnce: 0, ahead: { connections: 20, requests: [list], areRead: false } };
  },
};

// As many as are taken: with more there would be a new connection each time.
const UNREAD = 17;
const DESCRIPTION = { method: 'GET', path: '/openapi.json', headers: {} } as const;

export const unreadDescriptions: Attack = {
  name: `400 connections with ${UNREAD} unread answers of /openapi.json each, without a key`,

  async prepare() {
    const requests = Array.from({ length: UNREAD }, () => DESCRIPTION);
    return { requests: [], atOnce: 0, ahead: { connections: 400, requests, areRead: false } };
  },
};
