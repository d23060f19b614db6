import type { RequestTemplate } from './attacker';
import { nulFilters, searches } from './search-attacks';
import {
  batches,
  brokenCode,
  burst,
  busyTransformations,
  codePool,
  customSchemas,
  deepJson,
  deliveryExports,
  eventDetails,
  FAT_METADATA,
  fanOut,
  fatPatches,
  filteredLists,
  hangingEndpoints,
  idempotentAnswers,
  manyItems,
  paddedBatches,
  replays,
  webhookIds,
} from './traffic-attacks';
import { ATTACKER, type Attack, attackerHeaders, registerMany, type World } from './world';

const AT_ONCE = 16;

// A thousand times smaller when compressed.
const INFLATED_BYTES = 50_000_000;

const compressedBodies: Attack = {
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
const wrongKeys: Attack = {
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

const halfRequests: Attack = {
  name: `${CONNECTIONS} connections with half a request each`,

  async prepare() {
    return { requests: [], atOnce: 0, connections: CONNECTIONS };
  },
};

// The largest that is taken.
const LOGO = `data:image/png;base64,${'A'.repeat(32 * 1024 - 24)}`;

const portalSessions: Attack = {
  name: 'portal sessions with the largest logos, as many as are taken',

  async prepare(world) {
    const headers = await attackerHeaders(world);
    const body = JSON.stringify({ expires_in: 86_400, theme: { logo: LOGO } });
    return {
      requests: [{ method: 'POST', path: '/v1/portal-sessions', headers, body }],
      atOnce: AT_ONCE,
    };
  },
};

const ACCOUNTS = 4;
// Of an account in each process.
const MOST_STREAMS = 20;
const STREAMS = ACCOUNTS * MOST_STREAMS;
// Each comes back once: clients wait for seconds before they do so again.
const RETURNS = 2;

/** They are all there when their keys are revoked, and come back as clients do that do not understand. */
const revokedStreams: Attack = {
  name: `${STREAMS} streams of keys that are revoked`,

  async prepare(world) {
    const keys = await Promise.all(Array.from({ length: ACCOUNTS }, (_, i) => issueRevocable(world, i)));
    const streams = keys.flatMap(({ headers }) =>
      Array.from(
        { length: MOST_STREAMS },
        (): RequestTemplate => ({ method: 'GET', path: '/v1/stream', headers }),
      ),
    );
    const revocations = keys.map(
      ({ id, headers }): RequestTemplate => ({
        method: 'DELETE',
        path: `/v1/api-keys/${id}?last=true`,
        headers,
      }),
    );
    const requests = [...streams, ...revocations];
    return { requests, atOnce: requests.length, most: requests.length * RETURNS };
  },
};

/** A key of an account of its own, which can revoke itself. */
async function issueRevocable({ service }: World, i: number) {
  const account = `streaming-${i}`;
  await service.createAccount(account);
  const wish = { name: 'benchmark', scopes: ['deliveries:read', 'admin'] };
  const { id, key } = await service.ask(account, 'POST', '/v1/api-keys', wish);
  const headers = { authorization: `Bearer ${String(key)}`, 'x-forwarded-for': `198.51.100.${i + 2}` };
  return { id: String(id), headers };
}

const BEHIND = 30;
const PIPELINED_STREAMS = 8;

/** Each connection in one write of a few KB. */
const listsBehindStreams: Attack = {
  name: `${BEHIND} lists behind a stream, on one connection, ${PIPELINED_STREAMS} times`,

  async prepare(world) {
    const headers = await attackerHeaders(world);
    const stream = { method: 'GET', path: '/v1/stream?max_seconds=600', headers } as const;
    const list = { method: 'GET', path: '/v1/webhooks?limit=1', headers } as const;
    const lists = Array.from({ length: BEHIND }, () => list);
    return {
      requests: [list],
      atOnce: 1,
      ahead: { connections: PIPELINED_STREAMS, requests: [stream, ...lists], areRead: false },
    };
  },
};

const UNREAD_WEBHOOKS = 200;

const unreadLists: Attack = {
  name: 'answers of megabytes that nobody reads',

  async prepare(world) {
    await registerMany(world, UNREAD_WEBHOOKS, (i) => ({
      url: `${world.receiver.urlOf('ok', 'attacked')}?${i}`,
      metadata: FAT_METADATA,
    }));
    const headers = await attackerHeaders(world);
    const list = { method: 'GET', path: `/v1/webhooks?limit=${UNREAD_WEBHOOKS}`, headers } as const;
    return { requests: [], atOnce: 0, ahead: { connections: 20, requests: [list], areRead: false } };
  },
};

// As many as are taken: with more there would be a new connection each time.
const UNREAD = 17;
const DESCRIPTION = { method: 'GET', path: '/openapi.json', headers: {} } as const;

const unreadDescriptions: Attack = {
  name: `400 connections with ${UNREAD} unread answers of /openapi.json each, without a key`,

  async prepare() {
    const requests = Array.from({ length: UNREAD }, () => DESCRIPTION);
    return { requests: [], atOnce: 0, ahead: { connections: 400, requests, areRead: false } };
  },
};

const CONTACTS = 20;

/** As many as an account may have, at a server that never answers; made, changed, asked again and listed without a pause. */
const contacts: Attack = {
  name: `${CONTACTS} contacts that never answer, made, changed, asked again and listed`,

  async prepare(world) {
    const url = world.receiver.urlOf('hang', 'attacked');
    const made = Array.from({ length: CONTACTS }, async (_, i) => {
      const contact = await world.service.ask(ATTACKER, 'POST', '/v1/contacts', {
        kind: 'webhook',
        url: `${url}?${i}`,
      });
      return String(contact.id);
    });
    const ids = await Promise.all(made);
    const headers = await attackerHeaders(world);
    const contact = (i: string) => JSON.stringify({ kind: 'webhook', url: `${url}?again=${i}` });
    return {
      requests: [
        { method: 'POST', path: '/v1/contacts', headers, body: contact('%i') },
        { method: 'GET', path: '/v1/contacts', headers },
        { method: 'GET', path: '/v1/notifications?limit=200', headers },
        ...ids.flatMap((id): RequestTemplate[] => [
          { method: 'POST', path: `/v1/contacts/${id}/ask-again`, headers, body: '{}' },
          { method: 'PATCH', path: `/v1/contacts/${id}`, headers, body: '{"digest":"hourly"}' },
        ]),
      ],
      atOnce: AT_ONCE,
    };
  },
};

/** All attacks, by the names that the command line knows them by. */
export const attacks: ReadonlyMap<string, Attack> = new Map([
  ['batches', batches],
  ['compressed', compressedBodies],
  ['deep-json', deepJson],
  ['many-items', manyItems],
  ['webhook-ids', webhookIds],
  ['filtered-lists', filteredLists],
  ['fat-patches', fatPatches],
  ['idempotent-answers', idempotentAnswers],
  ['replays', replays],
  ['schemas', customSchemas],
  ['wrong-keys', wrongKeys],
  ['event-details', eventDetails],
  ['exports', deliveryExports],
  ['burst', burst],
  ['hanging', hangingEndpoints],
  ['fan-out', fanOut],
  ['transformations', busyTransformations],
  ['broken-code', brokenCode],
  ['code-pool', codePool],
  ['half-requests', halfRequests],
  ['portal-sessions', portalSessions],
  ['revoked-streams', revokedStreams],
  ['behind-streams', listsBehindStreams],
  ['unread-lists', unreadLists],
  ['unread-docs', unreadDescriptions],
  ['padded-batches', paddedBatches],
  ['search', searches],
  ['nul', nulFilters],
  ['contacts', contacts],
]);
