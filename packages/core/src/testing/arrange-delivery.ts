import { randomUUID } from 'node:crypto';
import { AccountStore } from '../accounts/redis-account-store';
import { AccessTokens } from '../deliver/access-tokens';
import { deliver } from '../deliver/deliver';
import { Ed25519Signatures } from '../deliver/ed25519-signatures';
import type { DeliverResult } from '../deliver/end-run';
import { BatchSizes } from '../deliver/flow/batch-sizes';
import type { Concurrency, Permit } from '../deliver/flow/concurrency';
import { wakeUpEndpoint } from '../deliver/flow/releaser';
import type { AttemptParts } from '../deliver/open-delivery';
import { AccessTokenStore } from '../deliver/redis-access-token-store';
import type { Attempt } from '../domain/attempt';
import { FAILURES_TO_OPEN } from '../domain/breaker';
import { type DeliveryRun, deliveryIdOf } from '../domain/delivery';
import type { DeliveryFact } from '../domain/delivery-fact';
import type { Endpoint, EndpointId } from '../domain/endpoint';
import type { AcceptedEvent } from '../domain/event';
import { keys } from '../domain/keys';
import { DELIVERIES_QUEUE } from '../domain/queues';
import type { RecordForm } from '../domain/record-form';
import type { DeliveryRequest, SendResult, SentResult } from '../domain/transport';
import type { EndedAttempt } from '../endpoints/health/attempt-tally';
import type { HealthRecorder } from '../endpoints/health/health-recorder';
import type { OperationalEvents } from '../endpoints/operational-events';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { TransformationStore } from '../endpoints/redis-transformation-store';
import { SigningKeyStore } from '../endpoints/signing-keys/redis-signing-key-store';
import { UnprovenRequests } from '../endpoints/verification/redis-unproven-requests';
import { DeliveryStore } from '../events/redis-delivery-store';
import type { EndedList } from '../events/redis-ended-list';
import { EventStore } from '../events/redis-event-store';
import { storageUnavailable } from '../platform/redis-errors';
import { openQueue } from '../queue/bullmq-on-demand-queue';
import { TransformPool } from '../transform/transform-pool';
import { buildAdmission } from './build-admission';
import { buildGuard } from './build-atomic';
import { buildAttempt } from './build-attempt';
import { buildEndpoint } from './build-endpoint';
import { buildEvent } from './build-event';
import { buildNewDeliveries } from './build-new-deliveries';
import { type Closable, createClosables } from './closables';
import { fake } from './fake';
import { recordRaised } from './record-raised';
import { recordSignals } from './record-signals';
import { openTestRedis, type TestRedis } from './test-redis';
import { testRetention } from './test-retention';
import { testSealer } from './test-sealer';
import { testTransformLimits } from './test-transform-limits';
import { withMethods } from './with-methods';

export const NOW = 1_700_000_060_000;
export const SEND_MS = 40;
export const SCHEDULE = [5_000, 300_000] as const;
const HELD_FOR_MS = 3_600_000;
export const HELD = { kind: 'later', delayMs: HELD_FOR_MS } as const;

type Responded = Extract<SentResult, { kind: 'responded' }>;

export function responded(status: number, change: Partial<Responded> = {}): SentResult {
  return {
    kind: 'responded',
    status,
    retryAfter: undefined,
    wish: undefined,
    body: '',
    timings: {},
    ...change,
  };
}

export const refused: SentResult = {
  kind: 'failed',
  reason: 'connect_refused',
  error: 'connect ECONNREFUSED',
  timings: {},
};

export const unsent: Extract<SendResult, { kind: 'unsent' }> = {
  kind: 'unsent',
  error: 'The proxy could not be used (ECONNREFUSED).',
};

export interface Arrangement {
  /** The receiver's results for one request after the other. */
  readonly results?: SendResult[];
  readonly endpoint?: Endpoint | 'deleted';
  readonly event?: 'expired';
  /** The event's type. */
  readonly type?: string;
  readonly acceptedAt?: number;
  readonly group?: string;
  readonly requestId?: string;
  readonly form?: RecordForm;
  /** The facts in the delivery's log so far. */
  readonly log?: readonly DeliveryFact[];
  readonly job?: Partial<
    Pick<
      DeliveryRun,
      'hasWaited' | 'holds' | 'wasTakenOver' | 'ownedUntil' | 'keepJob' | 'joinLane' | 'request'
    >
  >;
  readonly random?: number;
  /** How often a change of the endpoint is refused, and how. */
  readonly refusals?: number;
  readonly refusal?: Error;
  /** Where deliveries go that have ended, if there is a history. */
  readonly endedList?: Pick<EndedList, 'add' | 'addAll'>;
  /** What PostgreSQL has. */
  readonly copies?: Pick<AttemptParts, 'pgIntake' | 'pgHistory' | 'configurationCopy'>;
  /** How often the record of an attempt is refused, as by a Redis that is out of memory. */
  readonly recordRefusals?: number;
  /** Happens between reading the record and sending. */
  readonly whileAdmitting?: (run: DeliveryRun) => unknown;
  /** Happens while a request is under way. */
  readonly whileSending?: (run: DeliveryRun) => unknown;
  /** How long a signature by a key takes. */
  readonly signingMs?: number;
}

export type ArrangedDelivery = Awaited<ReturnType<DeliveryScene['arrange']>>;

/** Deliveries that are ready to go, over one Redis for a test file. */
export class DeliveryScene {
  readonly #closables = createClosables();
  // Its thread starts with the first run.
  readonly #transformPool = new TransformPool({ limits: testTransformLimits, emit: () => {} });

  private constructor(
    readonly redis: TestRedis,
    readonly endpointStore: EndpointStore,
    readonly eventStore: EventStore,
    readonly deliveryStore: DeliveryStore,
  ) {}

  static async open(): Promise<DeliveryScene> {
    const redis = await openTestRedis();
    return new DeliveryScene(
      redis,
      new EndpointStore(redis.client, testSealer),
      new EventStore(redis.client, testRetention),
      new DeliveryStore(redis.client, testRetention),
    );
  }

  /** Give a resource of the test back, and close it after the test. */
  willClose<Resource extends Closable>(resource: Resource): Resource {
    return this.#closables.willClose(resource);
  }

  /** Close the resources of the test. */
  readonly clear = (): Promise<void> => this.#closables.closeAll();

  async close(): Promise<void> {
    await this.clear();
    await this.#transformPool.close();
    await this.redis.close();
  }

  /** A delivery that is ready to go, and a receiver that remembers its requests. */
  async arrange({
    results = [],
    log = [],
    random = 0,
    job = {},
    type = 'keyword.quick_win',
    refusals = 0,
    refusal = storageUnavailable(new Error('OOM')),
    recordRefusals = 0,
    endedList,
    copies,
    whileAdmitting,
    whileSending,
    signingMs = 0,
    ...given
  }: Arrangement = {}) {
    const { redis, endpointStore, eventStore, deliveryStore } = this;
    const endpoint =
      given.endpoint === undefined || given.endpoint === 'deleted' ? buildEndpoint() : given.endpoint;
    const { accountId } = endpoint;
    const event: AcceptedEvent = buildEvent({
      accountId,
      acceptedAt: given.acceptedAt ?? NOW - 1_000,
      type,
      ...(given.group === undefined ? {} : { group: given.group }),
      ...(given.requestId === undefined ? {} : { requestId: given.requestId }),
    });
    const run: DeliveryRun = {
      accountId,
      eventId: event.id,
      endpointId: endpoint.id,
      hasWaited: false,
      wasTakenOver: false,
      ownedUntil: Number.POSITIVE_INFINITY,
      ...job,
    };
    if (given.endpoint !== 'deleted') await endpointStore.create(endpoint);
    if (given.event !== 'expired') await eventStore.save(event)(redis.client);
    await deliveryStore.enlistAll(buildNewDeliveries(event.id, [endpoint.id], event.acceptedAt))(
      redis.client,
    );
    for (const fact of log) await deliveryStore.append(run, fact);

    let now = NOW;
    const signatures = new Ed25519Signatures();
    const clock = () => now;
    const requests: DeliveryRequest[] = [];
    const signals = recordSignals();
    const raised = recordRaised();
    const recorded: [EndpointId, EndedAttempt][] = [];
    const admission = this.#closables.willClose(
      buildAdmission({ redis: redis.client, clock, signals, form: given.form }),
    );
    const { concurrency, attemptStore } = admission;
    let updates = 0;
    let recordings = 0;
    let admissions = 0;
    const changingStore = withMethods(endpointStore, {
      async update(...args: Parameters<EndpointStore['update']>) {
        updates += 1;
        if (updates <= refusals) throw refusal;
        return await endpointStore.update(...args);
      },
    });
    const transport = async (request: DeliveryRequest) => {
      requests.push(request);
      now += SEND_MS;
      await whileSending?.(run);
      const result = results.shift();
      if (!result) throw new Error('A request that the test does not expect.');
      return result;
    };
    const parts: AttemptParts = {
      ...admission,
      beginSpan: undefined,
      endpointStore: changingStore,
      accessTokens: new AccessTokens({
        accessTokenStore: new AccessTokenStore(redis.client, testSealer),
        unprovenRequests: new UnprovenRequests(redis.client),
        endpointStore,
        transport,
        userAgent: 'hooks/1.2',
        attemptTimeoutMs: 1_000,
        newTokenId: randomUUID,
        random: () => random,
        clock,
        emit: signals.listen,
      }),
      accountStore: new AccountStore(redis.client),
      signingKeyStore: new SigningKeyStore(redis.client, testSealer),
      ed25519Signatures: withMethods(signatures, {
        async sign(...args: Parameters<Ed25519Signatures['sign']>) {
          now += signingMs;
          return await signatures.sign(...args);
        },
      }),
      eventStore,
      deliveryStore,
      batchSizes: new BatchSizes(),
      concurrency: withMethods(concurrency, {
        async takePermit(...args: Parameters<Concurrency['takePermit']>) {
          admissions += 1;
          if (admissions === 1) await whileAdmitting?.(run);
          return await concurrency.takePermit(...args);
        },
      }),
      attemptStore: withMethods(attemptStore, {
        record(...args: Parameters<typeof attemptStore.record>) {
          recordings += 1;
          if (recordings > recordRefusals) return attemptStore.record(...args);
          return buildGuard(() => Promise.reject(storageUnavailable(new Error('OOM'))));
        },
      }),
      retention: testRetention,
      endedList: endedList && fake<EndedList>(endedList),
      ...copies,
      transformationStore: new TransformationStore(redis.client),
      transformPool: this.#transformPool,
      operationalEvents: fake<OperationalEvents>({ raise: raised.raise }),
      healthRecorder: fake<HealthRecorder>({
        record: (id, attempt) => void recorded.push([id, attempt]),
      }),
      retrySchedule: SCHEDULE,
      workerId: 'f00d42',
      requestStyle: {
        userAgent: 'hooks/1.2',
        signatureHeader: { name: 'X-Service-Signature', prefix: 'sha256=' },
      },
      random: () => random,
      transport,
    };
    return {
      endpoint,
      event,
      run,
      requests,
      signals,
      recorded,
      raised,
      admission,
      moveClock(ms: number) {
        now += ms;
      },
      deliver: (abortSignal: AbortSignal = new AbortController().signal): Promise<DeliverResult> =>
        deliver(parts, run, abortSignal),
      freePermits: () => concurrency.freePermits(endpoint.id),
      readRecord: () => deliveryStore.find(run),
      readBreaker: () => admission.admissionStore.readBreaker(endpoint.id),
      readEndpoint: () => endpointStore.find(endpoint.accountId, endpoint.id),
      isHeld: () => admission.heldDeliveries.isHeld(endpoint.id, event.id),
      log: () => redis.client.get(keys.delivery(endpoint.id, event.id)),
    };
  }

  /** As it is after the failures that open it. */
  async openBreaker(endpointId: EndpointId, openUntil: number): Promise<void> {
    const record = `${FAILURES_TO_OPEN} ${openUntil} ${NOW - 1_000} 0`;
    await this.redis.client.set(keys.breaker(endpointId), record);
  }

  /** Hold another delivery behind this one. Only a success or an end that makes room wakes it up. */
  async holdNext({ admission, run, event }: ArrangedDelivery, eventId = buildEvent().id) {
    const { client } = this.redis;
    const { accountId, endpointId } = run;
    const next = { eventId, endpointId };
    const queue = this.#closables.willClose(openQueue(DELIVERIES_QUEUE, { redis: client, prefix: 'bull' }));
    const jobId = deliveryIdOf(next);
    await queue.add('d', { account_id: accountId }, { jobId, delay: HELD_FOR_MS });
    const entry = { eventId: next.eventId, acceptedAt: event.acceptedAt + 1 };
    await admission.heldDeliveries.enter(run, entry, NOW + HELD_FOR_MS, 'busy');
    return {
      entry,
      async untilReleased(): Promise<void> {
        while (!['waiting', 'prioritized'].includes(await queue.getJobState(jobId)));
      },
      /** Whether it stays, even when its endpoint is woken up. */
      async stays(): Promise<boolean> {
        await wakeUpEndpoint(admission, run, 1);
        return (await queue.getJobState(jobId)) === 'delayed';
      },
    };
  }

  /** Gives a delivery of a strict order its turn, and has another one wait behind it. */
  async giveTurn(arranged: ArrangedDelivery) {
    const { admission, run, event } = arranged;
    const { besideLanes, releaser } = admission;
    const own = { eventId: run.eventId, acceptedAt: event.acceptedAt };
    const next = await this.holdNext(arranged);
    await besideLanes.join(run.endpointId, [own, next.entry])(this.redis.client);
    await this.redis.client.set(keys.turn(run.endpointId), run.eventId);
    releaser.start();
    return {
      ...next,
      isTurnKept: async () => (await this.redis.client.get(keys.turn(run.endpointId))) === run.eventId,
    };
  }

  async takeEveryPermit({ concurrency }: Admission, endpointId: EndpointId): Promise<void> {
    while (concurrency.freePermits(endpointId) > 0) {
      const permit = await takePermit(concurrency, endpointId);
      this.#closables.willClose({ close: () => concurrency.releasePermit(permit, undefined) });
    }
  }
}

type Admission = ReturnType<typeof buildAdmission>;

export async function takePermit(concurrency: Concurrency, id: EndpointId): Promise<Permit> {
  const permit = await concurrency.takePermit({ id }, false, false);
  if (typeof permit === 'string') throw new Error(`There is no permit: ${permit}.`);
  return permit;
}

/** Makes an endpoint known by an attempt of that kind. */
export async function learn(
  { concurrency }: Admission,
  endpointId: EndpointId,
  attempt: Partial<Attempt>,
): Promise<void> {
  concurrency.releasePermit(await takePermit(concurrency, endpointId), buildAttempt(attempt));
}

export const disabledEndpoint = () => buildEndpoint({ status: 'disabled', disabledReason: 'client' });
