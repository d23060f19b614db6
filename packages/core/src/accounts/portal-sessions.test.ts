import {
  type Account,
  type Capability,
  DEFAULT_ACCOUNT,
  hashKey,
  idOfCode,
  type Scope,
} from '../domain/account';
import { keys } from '../domain/keys';
import { systemClock } from '../platform/clock';
import { createNewId } from '../platform/ids';
import { buildApiKey } from '../testing/build-api-key';
import { fake } from '../testing/fake';
import { openAuthentication } from '../testing/open-authentication';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId } from '../testing/unique-ids';
import type { AccountQuota } from './account-quota';
import { ApiKeys, newApiKey, newPortalCode, newPortalToken } from './api-keys';
import { newPortalSessionSchema, PortalSessions } from './portal-sessions';
import { AccountStore } from './redis-account-store';
import { ApiKeyStore } from './redis-api-key-store';
import { PortalSessionStore } from './redis-portal-session-store';

const newId = createNewId(systemClock);
const MINUTE_MS = 60_000;
const ALL_LIVE = 1_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

interface Maker {
  readonly accountId?: Account['id'];
  readonly scopes?: readonly Scope[];
  readonly expiresAt?: number;
}

/** An account with a key, and what it can do with sessions, at a time that is moved by hand. */
async function setUp(maker: Maker = {}) {
  let now = Date.now();
  const clock = () => now;
  const { client } = redis;
  const accountStore = new AccountStore(client);
  const apiKeyStore = new ApiKeyStore(client);
  const portalSessionStore = new PortalSessionStore(client);
  const { record: principal } = buildApiKey(maker);
  const { accountId } = principal;
  await Promise.all([accountStore.create({ id: accountId, createdAt: now }), apiKeyStore.save(principal)]);
  const authentication = openAuthentication(client, { portalSessionStore, accountStore, apiKeyStore, clock });
  const quota = fake<AccountQuota>({ requireRoom: async () => {} });
  const sessions = new PortalSessions({ portalSessionStore, accountStore, authentication, quota, clock });
  return {
    portalSessionStore,
    accountStore,
    apiKeyStore,
    clock,
    accountId,
    principal,
    sessions,
    exchange: (code: string) => sessions.exchange(code, undefined),
    authenticate: (token: string) => authentication.authenticateAgain(`Bearer ${token}`),
    move: (ms: number) => void (now += ms),
    async create(input: Readonly<Record<string, unknown>> = {}) {
      const code = newPortalCode(newId, (count) => Buffer.alloc(count, 7));
      const parsed = newPortalSessionSchema.parse(input);
      const session = await sessions.create({ principal, input: parsed, code, createdAt: now });
      return { code, session };
    },
  };
}

const refused = (message: string) => ({ code: 'unauthenticated', message });
const USED = refused('The link was used already. Each link works once: ask for a new one.');
const LATE = refused('The link was not used in time. Ask for a new one.');
const INVALID = refused('The link is not valid, or its session has ended. Ask for a new one.');
const ENDED = refused('The portal session has ended. Ask for a new link.');

describe('a portal session', () => {
  it('is opened by its code, and from then on known by its token', async () => {
    const { create, exchange, authenticate, accountId } = await setUp();
    const page = { return_url: 'https://app.example.com/hooks', theme: { name: 'Acme', mode: 'dark' } };
    const { code, session } = await create(page);
    const opened = await exchange(code);
    expect(opened.session).toEqual(session);
    expect(opened.page).toEqual({ returnUrl: page.return_url, theme: page.theme });
    expect(await authenticate(opened.token)).toEqual({
      id: session.id,
      accountId,
      sha256: hashKey(opened.token),
      capabilities: ['read', 'webhooks', 'redeliver'],
      scopes: ['webhooks:read', 'deliveries:read', 'webhooks:write', 'deliveries:write'],
    });
  });

  it('that an earlier version stored has its capabilities, by the names that they have now', async () => {
    const { create, exchange, authenticate } = await setUp();
    const { code, session } = await create();
    const { token } = await exchange(code);
    const stored = JSON.stringify({ ...session, capabilities: ['read', 'endpoints', 'resend'] });
    await redis.client.hset(keys.portalSession(session.id), 'session', stored);
    expect(await authenticate(token)).toMatchObject({
      capabilities: ['read', 'webhooks', 'redeliver'],
      scopes: ['webhooks:read', 'deliveries:read', 'webhooks:write', 'deliveries:write'],
    });
  });

  it('is opened once, by the first of twenty', async () => {
    const { create, exchange } = await setUp();
    const { code } = await create();
    const tries = await Promise.allSettled(Array.from({ length: 20 }, () => exchange(code)));
    const reasons = tries.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    expect(reasons).toHaveLength(19);
    for (const reason of reasons) expect(reason).toMatchObject(USED);
    await expect(exchange(code)).rejects.toMatchObject(USED);
  });

  it('is not opened by its id with another secret part, nor by its token, nor by what is no code', async () => {
    const { create, exchange } = await setUp();
    const { code, session } = await create();
    const token = newPortalToken(session.id);
    const unknown = code.replace(session.id, '0'.repeat(16));
    for (const wrong of [`${code.slice(0, -1)}z`, token, unknown, '', 'whc_', `${code}0`])
      await expect(exchange(wrong)).rejects.toMatchObject(INVALID);
    await exchange(code);
  });

  it('is not known by its code, nor by a token of another secret part', async () => {
    const { create, exchange, authenticate } = await setUp();
    const { code, session } = await create();
    await expect(authenticate(newPortalToken(session.id))).rejects.toMatchObject(ENDED);
    const { token } = await exchange(code);
    const changed = token.slice(0, -1) + (token.endsWith('z') ? 'y' : 'z');
    for (const wrong of [newPortalToken(session.id), changed])
      await expect(authenticate(wrong)).rejects.toMatchObject(ENDED);
    // What does not have the form of a token counts as an API key.
    for (const wrong of [code, `${token}0`])
      await expect(authenticate(wrong)).rejects.toMatchObject({
        code: 'unauthenticated',
        message: expect.stringMatching(
          /^(The API key is unknown|The portal session has ended|Send your API key)/,
        ),
      });
  });

  it('has a code that is good for ten minutes, and less if the session ends sooner', async () => {
    const { create, exchange, move } = await setUp();
    const [late, soon, short] = [await create(), await create(), await create({ expires_in_seconds: 60 })];
    move(MINUTE_MS);
    await expect(exchange(short.code)).rejects.toMatchObject(LATE);
    move(9 * MINUTE_MS - 1);
    await exchange(soon.code);
    move(1);
    await expect(exchange(late.code)).rejects.toMatchObject(LATE);
  });

  it('ends at its time', async () => {
    const { create, exchange, authenticate, move } = await setUp();
    const { token } = await exchange((await create({ expires_in_seconds: 300 })).code);
    move(300_000 - 1);
    await authenticate(token);
    move(1);
    await expect(authenticate(token)).rejects.toMatchObject(ENDED);
  });

  it('ends with the key that it was made with, be that revoked or expired', async () => {
    const { create, exchange, authenticate, apiKeyStore, principal } = await setUp();
    const { token } = await exchange((await create()).code);
    const { code: unopened } = await create();
    await apiKeyStore.remove(principal);
    await expect(authenticate(token)).rejects.toMatchObject(ENDED);
    await expect(exchange(unopened)).rejects.toMatchObject(ENDED);

    const expiring = await setUp({ expiresAt: Date.now() + MINUTE_MS });
    const opened = await expiring.exchange((await expiring.create()).code);
    await expiring.authenticate(opened.token);
    expiring.move(MINUTE_MS);
    await expect(expiring.authenticate(opened.token)).rejects.toMatchObject(ENDED);
  });

  it('goes on when its key is rotated, and ends with the one that took its place, or when its own is revoked', async () => {
    const rotated = async () => {
      const scene = await setUp();
      const { apiKeyStore, accountStore, accountId, principal, clock } = scene;
      const { token } = await scene.exchange((await scene.create()).code);
      const apiKeys = new ApiKeys({ apiKeyStore, accountStore, clock });
      const rotate = (id: string) =>
        apiKeys.rotate(
          accountId,
          id,
          { key: newApiKey(newId), createdAt: clock() },
          { overlapMs: MINUTE_MS },
        );
      const second = await rotate(principal.id);
      const third = await rotate(second.apiKey.id);
      scene.move(MINUTE_MS);
      return { ...scene, token, second: second.apiKey, third: third.apiKey };
    };
    const { authenticate, token, apiKeyStore, third } = await rotated();
    expect(await authenticate(token)).toMatchObject({ capabilities: expect.any(Array) });
    await apiKeyStore.remove(third);
    await expect(authenticate(token)).rejects.toMatchObject({ code: 'unauthenticated' });

    const other = await rotated();
    await other.apiKeyStore.remove(other.principal);
    await expect(other.authenticate(other.token)).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it('ends when it is revoked, opened or not, by its own account alone', async () => {
    const { create, exchange, authenticate, sessions, principal } = await setUp();
    const [opened, unopened] = [await create(), await create()];
    const { token } = await exchange(opened.code);
    await expect(sessions.revoke(buildApiKey().record, opened.session.id)).rejects.toMatchObject({
      code: 'not_found',
    });
    await authenticate(token);
    for (const { session } of [opened, unopened]) await sessions.revoke(principal, session.id);
    await expect(authenticate(token)).rejects.toMatchObject(ENDED);
    await expect(exchange(unopened.code)).rejects.toMatchObject(INVALID);
    await expect(sessions.revoke(principal, opened.session.id)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('leaves nothing behind when it is revoked while it is opened', async () => {
    const { create, portalSessionStore } = await setUp();
    const { session } = await create();
    await portalSessionStore.remove(session);
    expect(await portalSessionStore.exchange(session, { tokenSha256: '', exchangedAt: 0 })).toBe(false);
    expect(await redis.client.exists(keys.portalSession(session.id))).toBe(0);
  });

  it('is stored without its code and its token, and lapses by itself', async () => {
    const { create, exchange, accountId } = await setUp();
    const { code, session } = await create({ expires_in_seconds: 600 });
    const { token } = await exchange(code);
    const sessionKey = keys.portalSession(session.id);
    const stored = JSON.stringify(await redis.client.hgetall(sessionKey));
    for (const secret of [code, token]) expect(stored).not.toContain(secret.slice(-30));
    expect(stored).toContain(hashKey(token));
    for (const key of [sessionKey, keys.portalSessionIds(accountId)]) {
      const leftMs = await redis.client.pttl(key);
      expect(leftMs).toBeGreaterThan(0);
      expect(leftMs).toBeLessThanOrEqual(600_000);
    }
  });

  it('is refused to an account that has as many as may be, until one of them has ended', async () => {
    const { create, accountId, move } = await setUp();
    const { session } = await create({ expires_in_seconds: 60 });
    const others = Array.from({ length: ALL_LIVE - 1 }, (_, i) => [
      session.expiresAt + MINUTE_MS,
      `other-${i}`,
    ]);
    await redis.client.zadd(keys.portalSessionIds(accountId), ...others.flat());
    await expect(create()).rejects.toMatchObject({ code: 'limit_reached' });
    move(MINUTE_MS);
    await create();
    await expect(create()).rejects.toMatchObject({ code: 'limit_reached' });
  });

  it('is not left to an account that is erased meanwhile', async () => {
    const { create, accountStore, accountId, sessions, clock } = await setUp();
    await accountStore.markErasing(accountId, clock());
    await expect(create()).rejects.toMatchObject({ code: 'not_found' });
    expect((await sessions.list(accountId, 10)).sessions).toEqual([]);
  });
});

describe('who may make what', () => {
  const operate: readonly Capability[] = ['read', 'operate'];

  it('lets operators name another account', async () => {
    const { accountId: other } = await setUp();
    const operator = await setUp({ accountId: DEFAULT_ACCOUNT });
    expect((await operator.create({ account_id: other })).session.accountId).toBe(other);
    const unknown = operator.create({ account_id: uniqueAccountId() });
    await expect(unknown).rejects.toMatchObject({ code: 'not_found' });
  });

  it('refuses others every account but their own, and the capability to operate', async () => {
    const { accountId: other } = await setUp();
    const unknownEndpoint = await setUp();
    await expect(unknownEndpoint.create({ account_id: other })).rejects.toMatchObject({
      code: 'operator_only',
    });
    await expect(unknownEndpoint.create({ capabilities: operate })).rejects.toMatchObject({
      code: 'operator_only',
    });
    expect((await unknownEndpoint.create({ account_id: unknownEndpoint.accountId })).session.accountId).toBe(
      unknownEndpoint.accountId,
    );
  });

  it('gives the capability to publish by a key alone that may publish itself', async () => {
    const narrow = await setUp({ scopes: ['portal:write', 'webhooks:write', 'admin'] });
    await expect(narrow.create({ capabilities: ['publish'] })).rejects.toMatchObject({
      code: 'insufficient_scope',
    });
    const publisher = await setUp({ scopes: ['portal:write', 'events:write'] });
    const { token } = await publisher.exchange((await publisher.create({ capabilities: ['publish'] })).code);
    const { capabilities, scopes } = await publisher.authenticate(token);
    expect(capabilities).toEqual(['read', 'publish']);
    // With that, it could erase payloads as well.
    expect(scopes).not.toContain('events:write');
  });

  it('gives the capability to write code by a key alone that may write it itself, and not by default', async () => {
    const narrow = await setUp({ scopes: ['portal:write', 'events:write', 'admin'] });
    await expect(narrow.create({ capabilities: ['transform'] })).rejects.toMatchObject({
      code: 'insufficient_scope',
    });
    const writer = await setUp({ scopes: ['portal:write', 'webhooks:write'] });
    const { token } = await writer.exchange((await writer.create({ capabilities: ['transform'] })).code);
    expect(await writer.authenticate(token)).toMatchObject({ capabilities: ['read', 'transform'] });
    expect((await writer.create({})).session.capabilities).not.toContain('transform');
  });

  it('refuses the capability to operate to a key of the operator that has not the scope for it', async () => {
    const narrow = await setUp({ accountId: DEFAULT_ACCOUNT, scopes: ['portal:write'] });
    await expect(narrow.create({ capabilities: operate })).rejects.toMatchObject({ code: 'operator_only' });
    const operator = await setUp({ accountId: DEFAULT_ACCOUNT });
    const { token } = await operator.exchange((await operator.create({ capabilities: operate })).code);
    expect((await operator.authenticate(token)).scopes).toContain('admin');
  });
});

it('lists sessions that have not ended, the longest first, page by page, and skips those gone', async () => {
  const { create, exchange, sessions, accountId, portalSessionStore, move } = await setUp();
  const made = [];
  for (const minutes of [1, 5, 4, 3, 2]) made.push(await create({ expires_in_seconds: minutes * 60 }));
  const [shortest, longest, four, gone, two] = made.map(({ session }) => session);
  await exchange(made[2]?.code ?? '');
  await redis.client.del(keys.portalSession(gone?.id ?? ''));
  move(MINUTE_MS);
  const first = await sessions.list(accountId, 2);
  expect(first.sessions.map(({ id }) => id)).toEqual([longest?.id, four?.id]);
  expect(first.sessions.map(({ exchange: opened }) => opened === undefined)).toEqual([true, false]);
  const second = await sessions.list(accountId, 2, first.nextCursor);
  expect(second.sessions.map(({ id }) => id)).toEqual([two?.id]);
  expect(second.nextCursor).toBeUndefined();
  expect(await portalSessionStore.find(shortest?.id ?? '')).toBeDefined();
});

describe('what may be said of a new one', () => {
  const pointersOf = (input: unknown) =>
    newPortalSessionSchema.safeParse(input).error?.issues.map(({ path }) => path.join('/'));

  it('adds what is left out, and what always belongs to it, in one order', () => {
    expect(newPortalSessionSchema.parse({})).toEqual({
      expires_in_seconds: 3_600,
      capabilities: ['read', 'webhooks', 'redeliver'],
    });
    const { capabilities } = newPortalSessionSchema.parse({ capabilities: ['secrets', 'webhooks'] });
    expect(capabilities).toEqual(['read', 'webhooks', 'secrets']);
    expect(newPortalSessionSchema.parse({ capabilities: [] }).capabilities).toEqual(['read']);
  });

  it.each([
    ['expires_in_seconds', { expires_in_seconds: 59 }],
    ['expires_in_seconds', { expires_in_seconds: 86_401 }],
    ['expires_in_seconds', { expires_in_seconds: 60.5 }],
    ['capabilities/0', { capabilities: ['admin'] }],
    ['capabilities', { capabilities: ['secrets'] }],
    ['capabilities', { account_id: 'acme', capabilities: ['operate'] }],
    ['return_url', { return_url: 'javascript:alert(1)' }],
    ['return_url', { return_url: 'data:text/html,hi' }],
    ['return_url', { return_url: '/settings' }],
    ['return_url', { return_url: `https://example.com/${'p'.repeat(2_048)}` }],
    ['theme/color', { theme: { color: 'red' } }],
    ['theme/color', { theme: { color: '#fff;background:url(x)' } }],
    ['theme/mode', { theme: { mode: 'sepia' } }],
    ['theme/name', { theme: { name: ' ' } }],
    ['theme/logo', { theme: { logo: 'https://example.com/logo.png' } }],
    ['theme/logo', { theme: { logo: 'data:image/svg+xml;base64,PHN2Zy8+' } }],
    ['theme/logo', { theme: { logo: 'data:image/png;base64,AAAA" onload="x' } }],
    ['theme/logo', { theme: { logo: `data:image/png;base64,${'A'.repeat(32 * 1024)}` } }],
    ['theme/font', { theme: { font: 'x; color: red' } }],
    ['theme', { theme: { size: 'x' } }],
  ])('refuses %s of %j', (pointer, input) => {
    expect(pointersOf(input)).toEqual([pointer]);
  });

  it('takes an image, a colour and a way back', () => {
    const logo = `data:image/webp;base64,${'A'.repeat(32 * 1024 - 23)}`;
    const page = { return_url: 'http://localhost:8080/x?y#z', theme: { logo, color: '#1F6feb' } };
    expect(newPortalSessionSchema.parse(page)).toMatchObject(page);
  });

  it('has ids in codes and tokens that are found again', () => {
    const code = newPortalCode(
      () => 'session_0123456789abcdefghjkmn',
      (count) => Buffer.alloc(count),
    );
    expect(idOfCode(code)).toBe('6789abcdefghjkmn');
  });
});
