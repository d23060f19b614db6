import type { Endpoint } from '../domain/endpoint';
import type { Verification } from '../domain/verification';
import { buildEndpoint } from '../testing/build-endpoint';
import { fake } from '../testing/fake';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId } from '../testing/unique-ids';
import { Endpoints, type EndpointsParts } from './endpoints';
import { EndpointStore } from './redis-endpoint-store';
import { ASKED_AN_HOUR, VerificationStore } from './verification/redis-verification-store';

const NOW = 1_700_000_000_000;
const GIVEN_UP: Verification = {
  method: 'challenge',
  status: 'failed',
  round: 1,
  tries: 3,
  error: 'response_timeout',
};

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterEach(() => redis.client.flushdb());
afterAll(() => redis.close());

function open() {
  const signals = recordSignals();
  const context = {
    endpointStore: new EndpointStore(redis.client, testSealer),
    verificationStore: new VerificationStore(redis.client),
    clock: () => NOW,
    emit: signals.listen,
  };
  const create = async (change: Partial<Endpoint> = {}) => {
    const endpoint = buildEndpoint({ verification: GIVEN_UP, ...change });
    await context.endpointStore.create(endpoint);
    return endpoint;
  };
  const endpoints = new Endpoints(fake<EndpointsParts>(context));
  const ask = ({ accountId, id }: Pick<Endpoint, 'accountId' | 'id'>) => endpoints.verify(accountId, id);
  return { context, signals, create, ask };
}

describe('a verification that is asked for', () => {
  it('is due at once, as the last try by itself', async () => {
    const { context, signals, create, ask } = open();
    const { accountId, id } = await create();
    const asked = await ask({ accountId, id });
    const { error: _error, ...rest } = GIVEN_UP;
    expect(asked.verification).toEqual({ ...rest, status: 'pending', nextTryAt: NOW });
    expect(await context.endpointStore.find(accountId, id)).toEqual(asked);
    expect(await context.verificationStore.claimDue(NOW, 16)).toMatchObject([{ accountId, endpointId: id }]);
    expect(signals.named('endpoint.updated')).toMatchObject([{ accountId, endpointId: id }]);
  });

  it('is refused once its account has asked its host too often; others may still ask', async () => {
    const { context, create, ask } = open();
    const accountId = uniqueAccountId();
    for (let time = 0; time < ASKED_AN_HOUR.ofAccount; time += 1) await ask(await create({ accountId }));
    await ask(await create());
    const one = await create({ accountId, url: 'https://receiver.example.com./other' });
    await expect(ask(one)).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfterMs: expect.any(Number),
    });
    expect((await context.endpointStore.find(one.accountId, one.id))?.verification).toEqual(GIVEN_UP);
    await ask(await create({ accountId, url: 'https://elsewhere.example.com/' }));
  });

  it.each<[string, Partial<Endpoint>]>([
    ['is verified', { verification: { ...GIVEN_UP, status: 'verified', verifiedAt: NOW } }],
    ['is disabled', { status: 'disabled', disabledReason: 'client' }],
  ])('is refused, and does not count, for one that %s', async (_what, change) => {
    const { context, create, ask } = open();
    const endpoint = await create(change);
    for (let time = 0; time <= ASKED_AN_HOUR.ofAccount; time += 1) {
      await expect(ask(endpoint)).rejects.toMatchObject({ code: 'conflict' });
    }
    expect(await context.verificationStore.claimDue(NOW, 16)).toEqual([]);
    await ask(await create());
  });

  it('is not found in another account', async () => {
    const { create, ask } = open();
    const { id } = await create();
    await expect(ask({ accountId: uniqueAccountId(), id })).rejects.toMatchObject({ code: 'not_found' });
  });
});
