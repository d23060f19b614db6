import type { Attack } from './attack';
import { attackerHeaders } from './world';

const AT_ONCE = 16;
// A thousand times smaller when compressed.
const INFLATED_BYTES = 50_000_000;

export const compressedBodies: Attack = {
  name: 'small bodies that are huge when inflated',

  async prepare(world) {
    const headers = await attackerHeaders(world);
    const body = `{"type":"keyword.quick_win","data":{"keyword":"${'a'.repeat(INFLATED_BYTES)}"}}`;
    const request = { method: 'POST', headers, body, isCompressed: true } as const;
    return {
      requests: [
        { ...request, path: '/v1/events' },
        { ...request, path: '/v1/events/batch' },
      ],
      atOnce: AT_ONCE,
    };
  },
};

/** Each from an address of its own, so that no address fails too often. */
export const wrongKeys: Attack = {
  name: 'wrong keys, each from another address',

  async prepare() {
    const secretPart = 'a'.repeat(43);
    return {
      requests: [
        {
          method: 'GET',
          path: '/v1/webhooks',
          headers: {
            authorization: `Bearer whk_0123456789abcdef_%i${secretPart}`,
            'x-forwarded-for': '2001:db8:%i::1',
          },
        },
      ],
      atOnce: AT_ONCE,
    };
  },
};

const CONNECTIONS = 2_000;

export const halfRequests: Attack = {
  name: `${CONNECTIONS} connections with half a request each`,

  async prepare() {
    return { requests: [], atOnce: 0, connections: CONNECTIONS };
  },
};
