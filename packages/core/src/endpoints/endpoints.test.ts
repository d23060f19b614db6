import { AccountStore } from '../accounts/redis-account-store';
import type { AccountId } from '../domain/account';
import { CLOSED } from '../domain/breaker';
import { ENDPOINT_ID_PREFIX, type EndpointId } from '../domain/endpoint';
import { keys, queueKeysOf } from '../domain/keys';
import { oneShard } from '../domain/queues';
import { endpointUidSchema } from '../domain/setting-schemas';
import type { EndpointVerification } from '../domain/verification';
import { DeliveryStore } from '../events/redis-delivery-store';
import type { Clock } from '../platform/clock';
import { createNewId } from '../platform/ids';
import { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEndpoints, TEST_MAX_ENDPOINTS } from '../testing/build-endpoints';
import { buildNewDeliveries } from '../testing/build-new-deliveries';
import { buildVerification } from '../testing/build-verification';
import {
  clientCertificate,
  clientKey,
  expiredCertificate,
  otherCertificate,
  outdatedCertificate,
  weakCertificate,
  weakKey,
} from '../testing/certificates';
import { costlyDsaKey } from '../testing/costly-keys';
import { fake } from '../testing/fake';
import { recordRaised } from '../testing/record-raised';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { AdmissionStore } from './admission/redis-admission-store';
import { BesideLanes } from './admission/redis-beside-lanes';
import type { EndpointPatch } from './endpoint-input';
import type { EndpointFilter, EndpointInput } from './endpoint-rules';
import type { UpdateBounds } from './endpoints';
import { tallyOf } from './health/attempt-tally';
import { HealthStore } from './health/redis-health-store';
import type { OperationalEvents } from './operational-events';
import { EndpointStore } from './redis-endpoint-store';
import { newSecret, ROTATION_ID_PREFIX, type SecretRotation } from './rotate-secret';
import { summarizeCertificate } from './tls/certificate';

const queueKeys = queueKeysOf('bull');

const NOW = 1_700_000_000_000;
const NOT_FOUND = { code: 'not_found', message: 'There is no webhook with this id.' };

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

async function build(clock: Clock = () => NOW, verification: EndpointVerification = 'off') {
  const deliveryStore = new DeliveryStore(redis.client, testRetention);
  const healthStore = new HealthStore(redis.client, 60_000);
  const admissionStore = new AdmissionStore(redis.client);
  const heldDeliveries = new HeldDeliveries(redis.client, oneShard('bull'));
  const raised = recordRaised();
  const signals = recordSignals();
  const endpointStore = new EndpointStore(redis.client, testSealer);
  const accountStore = new AccountStore(redis.client);
  const accountId = uniqueAccountId();
  await accountStore.create({ id: accountId, createdAt: NOW });
  const deliveryQueue = new DeliveryQueue(redis.client, oneShard('bull'));
  const newId = createNewId(clock);
  const endpoints = buildEndpoints(redis.client, {
    ...buildVerification(redis.client, verification),
    endpointStore,
    accountStore,
    admissionStore,
    healthStore,
    deliveryStore,
    heldDeliveries,
    deliveryQueue,
    operationalEvents: fake<OperationalEvents>({ raise: raised.raise }),
    clock,
    emit: signals.listen,
  });
  return {
    create: (account: AccountId, input: EndpointInput, id = newId(ENDPOINT_ID_PREFIX) as EndpointId) =>
      endpoints.create(account, input, id),
    read: (account: AccountId, id: EndpointId) => endpoints.read(account, id),
    list: (account: AccountId, filter: EndpointFilter, limit: number) =>
      endpoints.list(account, filter, limit),
    update: (account: AccountId, id: EndpointId, patch: EndpointPatch, bounds?: UpdateBounds) =>
      endpoints.update(account, id, patch, bounds),
    rotateSecret: (account: AccountId, id: EndpointId, rotation: SecretRotation) =>
      endpoints.rotateSecret(account, id, rotation, newId(ROTATION_ID_PREFIX)),
    disable: (account: AccountId, id: EndpointId) => endpoints.disable(account, id),
    enable: (account: AccountId, id: EndpointId) => endpoints.enable(account, id),
    remove: (account: AccountId, id: EndpointId) => endpoints.remove(account, id),
    deliveryQueue,
    endpointStore,
    deliveryStore,
    admissionStore,
    besideLanes: new BesideLanes(redis.client),
    heldDeliveries,
    healthStore,
    wakeUpDueAt: (endpointId: EndpointId, account = accountId) =>
      heldDeliveries.wakeUpDueAt({ accountId: account, endpointId }),
    failOnce: (endpointId: EndpointId) => redis.client.set(keys.breaker(endpointId), `1 0 ${NOW} 0`),
    raised,
    signals,
    accountStore,
    accountId,
  };
}

const input = { url: 'https://receiver.example.com/', events: ['*'] };

describe('create', () => {
  it('makes an endpoint with an id and a secret of its own', async () => {
    const { create, read, accountId } = await build();
    const endpoint = await create(accountId, { ...input, description: 'mine' });
    expect(endpoint).toEqual({
      ...input,
      id: expect.stringMatching(/^wh_[0-9a-z]{22}$/),
      accountId,
      description: 'mine',
      status: 'enabled',
      ordering: 'none',
      signing: 'hmac',
      format: 'native',
      rateLimitUnit: 'requests',
      whileDisabled: 'hold',
      enabledAt: NOW,
      secrets: [{ secret: expect.stringMatching(/^whsec_/), createdAt: NOW }],
      createdAt: NOW,
      updatedAt: NOW,
    });
    expect(await read(accountId, endpoint.id)).toEqual(endpoint);
  });

  it('gives the endpoint that is there when it is told to make one under the same id again', async () => {
    const { create, accountId } = await build();
    const id = uniqueEndpointId();
    const first = await create(accountId, input, id);
    expect(await create(accountId, input, id)).toEqual(first);
  });

  it('keeps the secret that the client brought', async () => {
    const { create, accountId } = await build();
    const secret = newSecret();
    expect(await create(accountId, { ...input, secret })).toMatchObject({ secrets: [{ secret }] });
  });
});

describe('create, for an account that is erased meanwhile', () => {
  const named = { ...input, uid: endpointUidSchema.parse('mine') };
  const keysOf = (accountId: string) => redis.client.keys(`*${accountId}*`);

  it('makes none while that goes on, and leaves none behind', async () => {
    const { create, accountId, accountStore } = await build();
    await accountStore.markErasing(accountId, NOW);
    await expect(create(accountId, named)).rejects.toMatchObject({ code: 'not_found' });
    expect(await keysOf(accountId)).toEqual([]);
  });

  it('makes none for a request that was slower than the erasure, and leaves none behind', async () => {
    const { create, accountId, accountStore } = await build();
    await accountStore.remove({ id: accountId, createdAt: NOW }, NOW, NOW + 1);
    await expect(create(accountId, named)).rejects.toMatchObject({ code: 'not_found' });
    expect(await keysOf(accountId)).toEqual([]);
  });
});

describe('update', () => {
  it('changes what the patch names, removes what it sets to null, and leaves the rest', async () => {
    const { create, update, accountId } = await build();
    const endpoint = await create(accountId, { ...input, description: 'mine' });
    const url = 'https://new.example.com/';
    const moved = await update(accountId, endpoint.id, { url });
    expect(moved).toEqual({ ...endpoint, url, updatedAt: NOW + 1 });
    const narrowed = await update(accountId, endpoint.id, { events: ['brief.*'], description: null });
    const { description: _description, ...rest } = moved;
    expect(narrowed).toEqual({ ...rest, events: ['brief.*'], updatedAt: NOW + 2 });
  });

  it('tells the time of the change', async () => {
    let now = NOW;
    const { create, update, accountId } = await build(() => now);
    const { id } = await create(accountId, input);
    now += 5_000;
    expect(await update(accountId, id, {})).toMatchObject({ createdAt: NOW, updatedAt: NOW + 5_000 });
  });
});

describe('the size of an endpoint', () => {
  // Each member is within its own bounds.
  const notes = (count: number, length = 250) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`note-${i}`, '\u{1F680}'.repeat(length)]));
  const TOO_LARGE = {
    code: 'invalid_request',
    validationErrors: [{ pointer: '', detail: expect.stringContaining('at most 65536 bytes in all') }],
  };

  it('is bounded in all when it is created, and when it is changed', async () => {
    const { create, update, read, accountId } = await build();
    const headers = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`x-${i}`, 'v'.repeat(1_000)]));
    await expect(create(accountId, { ...input, metadata: notes(50), headers })).rejects.toMatchObject(
      TOO_LARGE,
    );
    const endpoint = await create(accountId, { ...input, metadata: notes(40), headers });
    await expect(update(accountId, endpoint.id, { metadata: notes(50) })).rejects.toMatchObject(TOO_LARGE);
    expect(await read(accountId, endpoint.id)).toEqual(endpoint);
  });

  it('does not stand in the way of changes to one that is larger already, unless they add to it', async () => {
    const { update, accountId } = await build();
    const large = buildEndpoint({ accountId, metadata: notes(50, 400), description: 'old' });
    await new EndpointStore(redis.client, testSealer).create(large);
    const url = 'https://x.example.com/';
    expect(await update(accountId, large.id, { url, description: null })).toMatchObject({ url });
    await expect(update(accountId, large.id, { description: 'd'.repeat(500) })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });
});

describe('the TLS material', () => {
  const own = { certificate: clientCertificate, key: clientKey };

  it('is merged member by member, and goes by null: one of them, or all', async () => {
    const { create, update, accountId } = await build();
    const { id } = await create(accountId, { ...input, tls: own });
    const steps = [
      [{ ca: otherCertificate }, { ...own, ca: otherCertificate }],
      [{}, { ...own, ca: otherCertificate }],
      [{ certificate: null, key: null }, { ca: otherCertificate }],
      [{ ca: null }, undefined],
      [own, own],
      [null, undefined],
    ] as const;
    for (const [tls, expected] of steps)
      expect((await update(accountId, id, { tls }, { mayMoveSecrets: true })).tls).toEqual(expected);
  });

  it.each<[string, NonNullable<EndpointPatch['tls']>, string]>([
    ['a certificate without its key', { key: null }, '/tls/client_key'],
    ['a key without its certificate', { certificate: null }, '/tls/client_certificate'],
    ["a certificate with another one's key", { certificate: otherCertificate }, '/tls/client_key'],
    ['a certificate that has expired', { certificate: expiredCertificate }, '/tls/client_certificate'],
    ['a key that is too weak', { certificate: weakCertificate, key: weakKey }, '/tls/client_key'],
    ['what OpenSSL does not take', { certificate: outdatedCertificate }, '/tls/client_certificate'],
  ])('refuses %s, and changes nothing', async (_what, tls, pointer) => {
    const { create, read, update, accountId } = await build();
    const endpoint = await create(accountId, { ...input, tls: own });
    await expect(update(accountId, endpoint.id, { tls })).rejects.toMatchObject({
      code: 'invalid_request',
      validationErrors: [{ pointer, detail: expect.any(String) }],
    });
    expect(await read(accountId, endpoint.id)).toEqual(endpoint);
  });

  // Only to read that key takes OpenSSL half a minute; it may have been stored when nobody looked.
  it('is looked at as a whole when a part is changed, the key that was there included', async () => {
    const { create, update, accountId, endpointStore } = await build();
    const { id } = await create(accountId, { ...input, tls: own });
    await endpointStore.update(accountId, id, (endpoint) => ({
      ...endpoint,
      tls: { ...own, key: costlyDsaKey() },
    }));
    await expect(update(accountId, id, { tls: { certificate: clientCertificate } })).rejects.toMatchObject({
      validationErrors: [{ pointer: '/tls/client_key' }],
    });
    expect(await update(accountId, id, { tls: null })).not.toHaveProperty('tls');
  });

  it('is looked at when an endpoint is created, too', async () => {
    const { create, accountId } = await build();
    await expect(create(accountId, { ...input, tls: { key: clientKey } })).rejects.toMatchObject({
      validationErrors: [{ pointer: '/tls/client_certificate' }],
    });
  });

  it('does not stand in the way of other changes when its certificate has expired since', async () => {
    let now = NOW;
    const { create, update, accountId } = await build(() => now);
    const { id } = await create(accountId, { ...input, tls: own });
    now = summarizeCertificate(clientCertificate).expiresAt;
    expect(await update(accountId, id, { description: 'old' })).toMatchObject({
      description: 'old',
      tls: own,
    });
    await expect(update(accountId, id, { tls: {} })).rejects.toMatchObject({ code: 'invalid_request' });
  });
});

describe('rotateSecret', () => {
  it('is in force at once, with a secret of our making or the client’s own', async () => {
    const { create, read, rotateSecret, accountId } = await build();
    const { id, secrets } = await create(accountId, input);
    const made = await rotateSecret(accountId, id, { overlapMs: 5_000, secret: undefined });
    expect(made).toEqual({ secret: expect.stringMatching(/^whsec_/), previousExpiresAt: NOW + 5_000 });
    const own = newSecret();
    expect(await rotateSecret(accountId, id, { overlapMs: 9_000, secret: own })).toEqual({
      secret: own,
      previousExpiresAt: NOW + 9_000,
    });
    expect((await read(accountId, id)).secrets.map(({ secret }) => secret)).toEqual([
      own,
      made.secret,
      secrets[0]?.secret,
    ]);
  });
});

describe("a change of what an endpoint's attempts are limited by", () => {
  it('forgets that something waits for a rate limit that is removed', async () => {
    const { create, update, accountId } = await build();
    const { id } = await create(accountId, { ...input, rateLimit: 5 });
    await redis.client.set(keys.rateWaiting(id), '1');
    await update(accountId, id, { rateLimit: 6 });
    expect(await redis.client.exists(keys.rateWaiting(id))).toBe(1);
    await update(accountId, id, { rateLimit: null });
    expect(await redis.client.exists(keys.rateWaiting(id))).toBe(0);
  });

  it.each([{ rateLimit: 5 }, { ordering: 'strict' }] as const)(
    'has what is held looked at now: %j',
    async (patch) => {
      const { create, update, accountId, wakeUpDueAt } = await build();
      const { id } = await create(accountId, input);
      await update(accountId, id, patch);
      expect(await wakeUpDueAt(id)).toBe(NOW);
    },
  );

  it('asks for no wake-up when it does not exist', async () => {
    const { create, update, accountId, wakeUpDueAt } = await build();
    const { id } = await create(accountId, { ...input, rateLimit: 5, ordering: 'strict' });
    await update(accountId, id, { rateLimit: 5, ordering: 'strict', description: 'mine' });
    expect(await wakeUpDueAt(id)).toBeUndefined();
  });

  it.each([
    ['ends', null, false],
    ['keeps, when the ordering stays as it is,', 'strict', true],
  ] as const)('%s the places of those that lanes wait for', async (_what, ordering, isKept) => {
    const { create, update, accountId, besideLanes } = await build();
    const { id } = await create(accountId, { ...input, ordering: 'strict' });
    await besideLanes.join(id, [{ eventId: uniqueEventId(), acceptedAt: NOW }])(redis.client);
    await redis.client.set(keys.turn(id), uniqueEventId());
    await update(accountId, id, { ordering });
    expect((await besideLanes.first(id)) !== undefined).toBe(isKept);
    expect(await redis.client.exists(keys.turn(id))).toBe(isKept ? 1 : 0);
  });
});

describe('disable', () => {
  it("is the client's doing, and in force at once", async () => {
    const { create, disable, read, accountId, wakeUpDueAt, signals } = await build();
    const endpoint = await create(accountId, input);
    const disabled = await disable(accountId, endpoint.id);
    expect(signals.named('endpoint.disabled')).toMatchObject([{ endpointId: endpoint.id, reason: 'client' }]);
    expect(disabled).toEqual({
      ...endpoint,
      status: 'disabled',
      disabledReason: 'client',
      updatedAt: NOW + 1,
    });
    expect(await read(accountId, endpoint.id)).toEqual(disabled);
    expect(await wakeUpDueAt(endpoint.id)).toBeUndefined();
  });

  it('changes nothing the second time', async () => {
    const { create, disable, accountId, signals } = await build();
    const { id } = await create(accountId, input);
    expect(await disable(accountId, id)).toEqual(await disable(accountId, id));
    expect(signals.named('endpoint.disabled')).toHaveLength(1);
  });

  it('is told to the account, once', async () => {
    const { create, disable, accountId, raised } = await build();
    const { id } = await create(accountId, input);
    await disable(accountId, id);
    await disable(accountId, id);
    expect(raised.events).toMatchObject([
      { accountId, type: 'webhook.disabled', endpointId: id, data: { reason: 'client' } },
    ]);
  });
});

describe('enable', () => {
  it('lets what was held flow now, whatever the breaker thought of the receiver', async () => {
    const { create, disable, enable, read, accountId, admissionStore, failOnce, wakeUpDueAt } = await build();
    const { id } = await create(accountId, input);
    await disable(accountId, id);
    await failOnce(id);
    const enabled = await enable(accountId, id);
    expect(enabled).toMatchObject({ status: 'enabled' });
    expect(enabled).not.toHaveProperty('disabledReason');
    expect(await read(accountId, id)).toEqual(enabled);
    expect(await admissionStore.readBreaker(id)).toEqual(CLOSED);
    expect(await wakeUpDueAt(id)).toBe(NOW);
  });

  // A client whose first try was cut short between the record and the look can only try again.
  it('has what is held looked at also of an endpoint that is enabled, and changes nothing of it', async () => {
    const { create, enable, accountId, wakeUpDueAt } = await build();
    const endpoint = await create(accountId, input);
    expect(await enable(accountId, endpoint.id)).toEqual(endpoint);
    expect(await wakeUpDueAt(endpoint.id)).toBe(NOW);
  });

  it('has what is held looked at soon also when the process ends right after the change', async () => {
    const { create, disable, enable, accountId, admissionStore, wakeUpDueAt } = await build();
    const { id } = await create(accountId, { ...input, status: 'disabled' });
    await disable(accountId, id);
    jest.spyOn(admissionStore, 'closeBreaker').mockRejectedValueOnce(new Error('killed'));
    await expect(enable(accountId, id)).rejects.toThrow('killed');
    expect(await wakeUpDueAt(id)).toBe(NOW + 3_000);
  });
});

describe('remove', () => {
  it('also removes the list of its deliveries', async () => {
    const { create, remove, read, accountId, deliveryStore } = await build();
    const { id } = await create(accountId, input);
    await deliveryStore.enlistAll(buildNewDeliveries(uniqueEventId(), [id], NOW))(redis.client);
    await remove(accountId, id);
    await expect(read(accountId, id)).rejects.toMatchObject(NOT_FOUND);
    expect(await deliveryStore.list(id, 10)).toMatchObject({ deliveries: [] });
  });

  it('is whole though what waits for another attempt can not be looked at sooner', async () => {
    const { create, remove, accountId, heldDeliveries, deliveryStore, deliveryQueue, wakeUpDueAt, signals } =
      await build();
    const { id } = await create(accountId, input);
    const delivery = { eventId: uniqueEventId(), acceptedAt: NOW };
    await deliveryStore.enlistAll(buildNewDeliveries(delivery.eventId, [id], NOW))(redis.client);
    await heldDeliveries.enter({ accountId, endpointId: id }, delivery, NOW + 60_000, 'disabled');
    jest.spyOn(deliveryQueue, 'findDelayed').mockRejectedValue(new Error('no Redis'));
    await remove(accountId, id);
    expect(await wakeUpDueAt(id)).toBe(NOW);
    expect(signals.named('task.failed')).toMatchObject([{ task: 'send waiting deliveries sooner' }]);
  });

  it('also removes what limits its attempts, and has what is held looked at now, to be cancelled', async () => {
    const { create, remove, accountId, admissionStore, besideLanes, heldDeliveries, failOnce, wakeUpDueAt } =
      await build();
    const { id } = await create(accountId, { ...input, ordering: 'strict' });
    const delivery = { eventId: uniqueEventId(), acceptedAt: NOW };
    await besideLanes.join(id, [delivery])(redis.client);
    await heldDeliveries.enter({ accountId, endpointId: id }, delivery, NOW + 60_000, 'disabled');
    await failOnce(id);
    await remove(accountId, id);
    expect(await admissionStore.stand(id, undefined)).toMatchObject({ breaker: CLOSED });
    expect(await besideLanes.first(id)).toBeUndefined();
    expect(await wakeUpDueAt(id)).toBe(NOW);
  });

  it('also removes how the attempts at it went', async () => {
    const { create, remove, accountId, healthStore } = await build();
    const { id } = await create(accountId, input);
    const tally = tallyOf({ at: NOW, durationMs: 40 });
    await healthStore.addAll([{ endpointId: id, tally }], NOW);
    await remove(accountId, id);
    expect(await healthStore.readLastSuccess(id)).toBeUndefined();
  });

  it("leaves another account's deliveries alone", async () => {
    const { create, remove, accountId, deliveryStore } = await build();
    const { id } = await create(accountId, input);
    await deliveryStore.enlistAll(buildNewDeliveries(uniqueEventId(), [id], NOW))(redis.client);
    await expect(remove(uniqueAccountId(), id)).rejects.toMatchObject(NOT_FOUND);
    expect((await deliveryStore.list(id, 10)).deliveries).toHaveLength(1);
  });
});

it("answers for another account's endpoint as for one that is not there", async () => {
  const { create, read, update, rotateSecret, enable, disable, remove, accountId, admissionStore, failOnce } =
    await build();
  const { id } = await create(accountId, input);
  await failOnce(id);
  for (const [account, endpointId] of [
    [uniqueAccountId(), id],
    [accountId, uniqueEndpointId()],
  ] as const) {
    await expect(read(account, endpointId)).rejects.toMatchObject(NOT_FOUND);
    await expect(update(account, endpointId, {})).rejects.toMatchObject(NOT_FOUND);
    await expect(
      rotateSecret(account, endpointId, { overlapMs: 0, secret: undefined }),
    ).rejects.toMatchObject(NOT_FOUND);
    await expect(enable(account, endpointId)).rejects.toMatchObject(NOT_FOUND);
    await expect(disable(account, endpointId)).rejects.toMatchObject(NOT_FOUND);
    await expect(remove(account, endpointId)).rejects.toMatchObject(NOT_FOUND);
  }
  // A look by the wrong account would take the endpoint for deleted, and release what it holds.
  expect(
    (await redis.client.zrange(queueKeys.wakeUps, '0', '-1')).filter((wakeUp) => wakeUp.includes(id)),
  ).toEqual([]);
  expect(await admissionStore.readBreaker(id)).toMatchObject({ failures: 1 });
});

it('makes no more endpoints than an account may have, however many are asked for at the same time', async () => {
  const { create, list, accountId } = await build();
  const results = await Promise.allSettled(Array.from({ length: 12 }, () => create(accountId, input)));
  const refused = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason.code);
  expect(refused).toEqual(Array(12 - TEST_MAX_ENDPOINTS).fill('limit_reached'));
  expect((await list(accountId, {}, 50)).endpoints).toHaveLength(TEST_MAX_ENDPOINTS);
});
