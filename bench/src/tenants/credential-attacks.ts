import type { Attack, RequestTemplate } from './attack';
import { attackerHeaders, type World } from './world';

const AT_ONCE = 16;
// The largest that is taken.
const LOGO = `data:image/png;base64,${'A'.repeat(32 * 1024 - 24)}`;

export const portalSessions: Attack = {
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
export const revokedStreams: Attack = {
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
