import type { Endpoint } from '../domain/endpoint';
import type { DeliveryRequest, SendResult } from '../domain/transport';
import type { Verification } from '../domain/verification';
import type { OperationalEvents } from '../endpoints/operational-events';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { SigningKeyStore } from '../endpoints/signing-keys/redis-signing-key-store';
import { UNPROVEN_A_MINUTE } from '../endpoints/verification/redis-unproven-requests';
import { createNewId } from '../platform/ids';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildVerification, TEST_ORIGIN } from '../testing/build-verification';
import { fake } from '../testing/fake';
import { noTokens } from '../testing/no-tokens';
import { recordRaised } from '../testing/record-raised';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testSealer } from '../testing/test-sealer';
import { Ed25519Signatures } from './ed25519-signatures';
import { checkChallenge, checkPermission, type VerifierParts, verifyEndpoint } from './verify-endpoint';

const VERIFIED = { kind: 'verified' };

describe('an answer to a challenge', () => {
  it('proves it with the challenge as a member of its own', () => {
    expect(checkChallenge('{"challenge":"abc","more":1}', 'abc')).toEqual(VERIFIED);
  });

  it.each([
    '',
    'abc',
    '"abc"',
    'null',
    '{}',
    '["abc"]',
    '{"challenge":"abcd"}',
    '{"challenge":"abd"}',
    '{"challenge":["abc"]}',
    '{"data":{"challenge":"abc"}}',
  ])('proves nothing by %j', (body) => {
    expect(checkChallenge(body, 'abc')).toEqual({ kind: 'failed', error: 'challenge_mismatch' });
  });
});

describe('a permission', () => {
  it.each([
    ['*', undefined, VERIFIED],
    [' Hooks.Example.com ', '*', VERIFIED],
    ['*', '60', { ...VERIFIED, allowedRate: 60 }],
    ['*', ' 120 ', { ...VERIFIED, allowedRate: 120 }],
  ])('is granted by the origin %j with the rate %j', (origin, rate, result) => {
    expect(checkPermission({ origin, rate }, 'hooks.example.com')).toEqual(result);
  });

  it.each([
    [undefined, undefined, 'not_allowed'],
    ['other.example.com', undefined, 'not_allowed'],
    ['hooks.example.com.evil.example', undefined, 'not_allowed'],
    ['*', '0', 'not_allowed'],
    ['*', '-1', 'not_allowed'],
    ['*', 'many', 'not_allowed'],
    ['*', '1', 'rate_too_low'],
    ['*', '59', 'rate_too_low'],
  ])('is not by the origin %j with the rate %j', (origin, rate, error) => {
    expect(checkPermission({ origin, rate }, 'hooks.example.com')).toEqual({ kind: 'failed', error });
  });
});

describe('a try', () => {
  const NOW = 1_700_000_000_000;
  const CLAIMED_UNTIL = NOW + 20_000;
  const BEGUN: Verification = {
    method: 'challenge',
    status: 'unverified',
    round: 1,
    tries: 0,
    nextTryAt: NOW,
  };

  let redis: TestRedis;
  beforeAll(async () => {
    redis = await openTestRedis();
  });
  afterEach(() => redis.client.flushdb());
  afterAll(() => redis.close());

  type Answer = (request: DeliveryRequest) => SendResult | Promise<SendResult>;
  const responded = (body: string, status = 200): SendResult => ({
    kind: 'responded',
    status,
    retryAfter: undefined,
    wish: undefined,
    body,
    timings: {},
  });
  const challengeIn = ({ body }: DeliveryRequest) =>
    (JSON.parse(body) as { data: { challenge: string } }).data.challenge;
  const right: Answer = (request) => responded(JSON.stringify({ challenge: challengeIn(request) }));
  const wrong: Answer = () => responded('{}');

  async function arrange(answer: Answer, change: Partial<Endpoint> = {}) {
    const sent: DeliveryRequest[] = [];
    const wokenUp: number[] = [];
    const signals = recordSignals();
    const raised = recordRaised();
    const endpointStore = new EndpointStore(redis.client, testSealer);
    const { verificationPolicy, unprovenRequests } = buildVerification(redis.client, 'required');
    const endpoint = buildEndpoint({ verification: BEGUN, ...change });
    await endpointStore.create(endpoint);
    const parts = fake<VerifierParts>({
      endpointStore,
      verificationPolicy,
      unprovenRequests,
      signingKeyStore: new SigningKeyStore(redis.client, testSealer),
      ed25519Signatures: new Ed25519Signatures(),
      accessTokens: noTokens,
      heldDeliveries: fake<HeldDeliveries>({ askForWakeUp: async (_address, at) => void wokenUp.push(at) }),
      operationalEvents: fake<OperationalEvents>(raised),
      transport: async (request: DeliveryRequest) => {
        sent.push(request);
        return await answer(request);
      },
      requestStyle: {
        userAgent: 'Hookferry/1',
        signatureHeader: { name: 'X-Service-Signature', prefix: 'sha256=' },
      },
      newId: createNewId(() => NOW),
      random: () => 0.5,
      clock: () => NOW,
      emit: signals.listen,
    });
    const address = { accountId: endpoint.accountId, endpointId: endpoint.id };
    const attempt = (ownedUntil = CLAIMED_UNTIL, stopping = new AbortController().signal) =>
      verifyEndpoint(parts, address, ownedUntil, stopping);
    const verification = async () =>
      (await endpointStore.find(endpoint.accountId, endpoint.id))?.verification;
    return { parts, endpoint, attempt, verification, sent, wokenUp, signals, raised };
  }

  it('verifies the endpoint by a signed challenge, and lets its deliveries go', async () => {
    const { attempt, verification, sent, wokenUp, signals } = await arrange(right, { signing: 'both' });
    expect(await attempt()).toBeUndefined();
    expect(await verification()).toMatchObject({ status: 'verified', tries: 1, verifiedAt: NOW });
    expect(sent).toHaveLength(1);
    expect(sent[0]?.headers['webhook-signature']).toMatch(/^v1,\S+ v1a,\S+$/);
    expect(wokenUp.at(-1)).toBe(NOW);
    expect(signals.named('endpoint.verified')).toHaveLength(1);
  });

  it('fails by any other answer, and says when the next one is due', async () => {
    const { attempt, verification, wokenUp, raised } = await arrange(wrong);
    expect(await attempt()).toBe(NOW + 60_000);
    expect(await verification()).toMatchObject({ status: 'pending', error: 'challenge_mismatch' });
    expect(wokenUp).toEqual([]);
    expect(raised.events).toEqual([]);
  });

  it('never takes the challenge of a try before', async () => {
    let before = '';
    const late: Answer = (request) => {
      const answer = responded(JSON.stringify({ challenge: before }));
      before = challengeIn(request);
      return answer;
    };
    const { parts, endpoint, attempt, verification, sent } = await arrange(late);
    await attempt();
    const again = { ...BEGUN, round: 2 };
    const { accountId, id } = endpoint;
    await parts.endpointStore.update(accountId, id, (current) => ({ ...current, verification: again }));
    await attempt();
    expect(new Set(sent.map(challengeIn)).size).toBe(2);
    expect(await verification()).toMatchObject({ round: 2, status: 'pending', error: 'challenge_mismatch' });
  });

  it('proves nothing of a URL that came while it was under way', async () => {
    const change = { ...BEGUN, round: 2 };
    const arranged = await arrange(async (request) => {
      const { accountId, id } = arranged.endpoint;
      await arranged.parts.endpointStore.update(accountId, id, (current) => ({
        ...current,
        url: 'https://other.example.com/',
        verification: change,
      }));
      return right(request);
    });
    expect(await arranged.attempt()).toBe(NOW);
    expect(await arranged.verification()).toEqual(change);
    expect(arranged.signals.named('endpoint.verified')).toEqual([]);
  });

  it('is not made when it is not due, or for one that is disabled or verified', async () => {
    const later = await arrange(right, { verification: { ...BEGUN, nextTryAt: NOW + 5 } });
    expect(await later.attempt()).toBe(NOW + 5);
    const disabled = await arrange(right, { status: 'disabled', disabledReason: 'client' });
    expect(await disabled.attempt()).toBeUndefined();
    const verified = await arrange(right, {
      verification: { method: 'challenge', status: 'verified', round: 1, tries: 1, verifiedAt: NOW },
    });
    expect(await verified.attempt()).toBeUndefined();
    expect([...later.sent, ...disabled.sent, ...verified.sent]).toEqual([]);
  });

  it('is not made once another process may make it, and not checked when this one stops', async () => {
    const { attempt, verification, sent } = await arrange(wrong);
    expect(await attempt(NOW + 9_000)).toBe(NOW + 5_000);
    expect(sent).toEqual([]);
    const failing = await arrange(() => ({
      kind: 'failed',
      reason: 'connection_reset',
      error: 'aborted',
      timings: {},
    }));
    expect(await failing.attempt(CLAIMED_UNTIL, AbortSignal.abort())).toBe(NOW + 5_000);
    expect(await verification()).toEqual(BEGUN);
    expect(await failing.verification()).toEqual(BEGUN);
  });

  it('waits for its turn, at a random time, when host or account had as many as they may have', async () => {
    const { parts, endpoint, attempt, verification, sent } = await arrange(wrong);
    for (let time = 0; time < UNPROVEN_A_MINUTE.ofAccountAtHost; time += 1) {
      await parts.unprovenRequests.take(endpoint.accountId, 'receiver.example.com');
    }
    const nextAt = await attempt();
    expect(nextAt).toBeGreaterThan(NOW + 80_000);
    expect(nextAt).toBeLessThanOrEqual(NOW + 90_000);
    expect(sent).toEqual([]);
    expect(await verification()).toEqual(BEGUN);
  });

  it('asks for permission as CloudEvents has it, without a challenge', async () => {
    const granted: Answer = () => ({
      ...(responded('') as SendResult & { kind: 'responded' }),
      permission: { origin: TEST_ORIGIN, rate: '120' },
    });
    const { attempt, verification, sent } = await arrange(granted, {
      verification: { ...BEGUN, method: 'cloudevents' },
    });
    expect(await attempt()).toBeUndefined();
    expect(sent).toMatchObject([
      { method: 'OPTIONS', body: '', headers: { 'webhook-request-origin': TEST_ORIGIN } },
    ]);
    expect(await verification()).toMatchObject({ status: 'verified', allowedRate: 120 });
  });
});
