import { AuditLog } from '../accounts/audit/redis-audit-log';
import { AccountStore } from '../accounts/redis-account-store';
import { PauseStore, type PauseSubject } from '../accounts/redis-pause-store';
import { type AccountId, DEFAULT_ACCOUNT } from '../domain/account';
import type { Endpoint } from '../domain/endpoint';
import { keys } from '../domain/keys';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { createNewId } from '../platform/ids';
import { buildAct } from '../testing/build-act';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEndpoints } from '../testing/build-endpoints';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { testSealer } from '../testing/test-sealer';
import { withMethods } from '../testing/with-methods';
import { AccountPauses, type AccountPausesParts } from './account-pauses';

const NOW = 1_700_000_000_000;
const ACME = 'acme' as AccountId;

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function arrange() {
  const { client } = willClose(await openTestRedis());
  const clock = () => NOW;
  const accountStore = new AccountStore(client);
  const pauseStore = new PauseStore(client);
  const endpointStore = new EndpointStore(client, testSealer);
  const endpoints = buildEndpoints(client, { clock });
  const emit = () => {};
  const open = (store: AccountPausesParts['pauseStore'] = pauseStore) =>
    new AccountPauses({ accountStore, pauseStore: store, endpointStore, endpoints, clock, emit });
  await accountStore.create({ id: ACME, createdAt: NOW });
  const newId = createNewId(Date.now);
  const orderOf = (action: 'account.pause' | 'account.resume') => ({
    act: buildAct({ action, at: NOW }),
    newId,
  });
  const create = async (change: Partial<Endpoint> = {}) => {
    const endpoint = buildEndpoint({ accountId: ACME, ...change });
    await endpointStore.create(endpoint);
    return endpoint.id;
  };
  const pauses = open();
  return {
    client,
    accountStore,
    pauseStore,
    open,
    orderOf,
    create,
    pause: (reason?: string) => pauses.pause(ACME, reason, orderOf('account.pause')),
    resume: () => pauses.resume(ACME, orderOf('account.resume')),
    reasons: async () => {
      const { endpoints: all } = await endpointStore.list(ACME, 1_000);
      return all.map(({ disabledReason = 'enabled' }) => disabledReason).toSorted();
    },
    logOf: async (id: AccountId) => {
      const { entries } = await new AuditLog(client).listDone(id, {}, 100);
      return entries.map(({ action, targetId, changes }) => [action, targetId, changes?.[0]?.to]);
    },
  };
}

describe('a paused account', () => {
  it('says who paused it, when and why, and has no webhook enabled', async () => {
    const { create, pause, reasons, logOf, pauseStore } = await arrange();
    const id = await create();
    await create({ status: 'disabled', disabledReason: 'client' });
    await create({ listener: {} });
    const { account, changed } = await pause('Its receivers are down');
    const by = { type: 'api_key', id: '0123456789abcdef' };
    expect(account).toMatchObject({ id: ACME, pause: { at: NOW, reason: 'Its receivers are down', by } });
    expect(changed).toBe(1);
    expect(await reasons()).toEqual(['client', 'enabled', 'operator']);
    expect(await logOf(DEFAULT_ACCOUNT)).toEqual([['account.pause', ACME, 'Its receivers are down']]);
    expect(await logOf(ACME)).toContainEqual(['webhook.disable', id, expect.anything()]);
    expect(await pauseStore.listAccounts(10)).toMatchObject([{ accountId: ACME }]);
  });

  it('that is paused again keeps its first pause, and is completed', async () => {
    const { create, pause, reasons, logOf } = await arrange();
    await pause('first');
    await create();
    const { account, changed } = await pause('second');
    expect([account.pause?.reason, changed]).toEqual(['first', 1]);
    expect(await reasons()).toEqual(['operator']);
    expect(await logOf(DEFAULT_ACCOUNT)).toHaveLength(1);
  });

  it('is resumed with what the pause disabled, and with nothing else; likewise repeated', async () => {
    const { create, pause, resume, reasons, logOf } = await arrange();
    await create();
    await create({ status: 'disabled', disabledReason: 'failing' });
    await pause();
    expect(await resume()).toMatchObject({ account: { pause: undefined }, changed: 1 });
    expect(await resume()).toMatchObject({ account: { pause: undefined }, changed: 0 });
    expect(await reasons()).toEqual(['enabled', 'failing']);
    expect((await logOf(DEFAULT_ACCOUNT)).map(([action]) => action)).toEqual([
      'account.resume',
      'account.pause',
    ]);
  });
});

describe('pauses and resumptions at the same time', () => {
  it('leave all webhooks as the record has it in the end, from several processes', async () => {
    const { create, open, orderOf, reasons, pauseStore } = await arrange();
    for (let i = 0; i < 12; i += 1) await create();
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(
        Array.from({ length: 6 }, (_, i) =>
          i % 2 === 0
            ? open().pause(ACME, undefined, orderOf('account.pause'))
            : open().resume(ACME, orderOf('account.resume')),
        ),
      );
      const isPaused = (await pauseStore.find({ kind: 'account', id: ACME })) !== undefined;
      expect(new Set(await reasons())).toEqual(new Set([isPaused ? 'operator' : 'enabled']));
    }
  });

  it('end as the later one has it, also if that came and went between a look and its step', async () => {
    const { create, open, orderOf, reasons, pauseStore, resume } = await arrange();
    await create();
    await create();
    let hasLooked = false;
    const lookThenWait = withMethods(pauseStore, {
      find: async (subject: PauseSubject) => {
        const found = await pauseStore.find(subject);
        if (!hasLooked) {
          hasLooked = true;
          await resume();
        }
        return found;
      },
    });
    const { account } = await open(lookThenWait).pause(ACME, undefined, orderOf('account.pause'));
    expect(account.pause).toBeUndefined();
    expect(await reasons()).toEqual(['enabled', 'enabled']);
  });
});

describe('an account that is erased', () => {
  it('can neither be paused nor resumed from the moment its erasure begins', async () => {
    const { accountStore, pause, resume } = await arrange();
    await accountStore.markErasing(ACME, NOW);
    await expect(pause()).rejects.toMatchObject({ code: 'not_found' });
    await expect(resume()).rejects.toMatchObject({ code: 'not_found' });
  });

  it('leaves no pause behind, also one that was ordered while the erasure began', async () => {
    const { client, accountStore, pauseStore, open, orderOf, pause } = await arrange();
    await pause();
    const account = await accountStore.markErasing(ACME, NOW);
    if (!account) throw new Error('It was not there.');
    await accountStore.remove(account, NOW, NOW + 1);
    expect(await client.hlen(keys.pauses)).toBe(0);

    await accountStore.create({ id: ACME, createdAt: NOW + 2 });
    const store = withMethods(pauseStore, {
      pause: async (...given: Parameters<PauseStore['pause']>) => {
        await accountStore.markErasing(ACME, NOW + 3);
        return await pauseStore.pause(...given);
      },
    });
    await expect(open(store).pause(ACME, undefined, orderOf('account.pause'))).rejects.toMatchObject({
      code: 'not_found',
    });
    expect(await client.hlen(keys.pauses)).toBe(0);
  });
});
