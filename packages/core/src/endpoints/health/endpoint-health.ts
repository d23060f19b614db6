import { type BreakerPhase, standingOfBreaker } from '../../domain/breaker';
import type { Endpoint } from '../../domain/endpoint';
import type { Clock } from '../../platform/clock';
import type { HeldDeliveries } from '../../queue/bullmq-held-deliveries';
import type { AdmissionStore } from '../admission/redis-admission-store';
import { type DisablePolicy, disabledFrom } from '../disable';
import type { EndpointStore } from '../redis-endpoint-store';
import type { DisabledEndpoints } from '../redis-stopped-endpoints';
import { isUnreadableSecret } from '../seal';
import { type AttemptTally, type RecentAttempts, recentAttempts } from './attempt-tally';
import type { HealthStore } from './redis-health-store';

/**
 * What limits an endpoint's running attempts: its own setting (`max_concurrency`), or the number that it has
 * shown to bear (`adaptive`).
 */
export const concurrencyReasons = ['max_concurrency', 'adaptive'] as const;

/** How many attempts an endpoint may have running at the moment. */
export interface ConcurrencyStanding {
  /** Over all workers that have tried it recently. */
  readonly limit: number;
  /** The number of these workers. */
  readonly workers: number;
  readonly reason: (typeof concurrencyReasons)[number];
}

/** The health of an endpoint. */
export interface Health extends RecentAttempts, Pick<AttemptTally, 'lastSuccessAt' | 'lastFailure'> {
  readonly breaker: BreakerPhase;
  /** When it is tried again. `undefined`: now, and whenever there is something to send. */
  readonly openUntil: number | undefined;
  /** From when on another failure disables it. `undefined`: it does not fail, or that is never. */
  readonly disabledFrom: number | undefined;
  /** Deliveries that are held. */
  readonly held: number;
  /** `undefined`: no worker has tried it recently. */
  readonly concurrency: ConcurrencyStanding | undefined;
}

export interface EndpointHealthParts {
  readonly endpointStore: EndpointStore;
  readonly healthStore: HealthStore;
  readonly admissionStore: AdmissionStore;
  readonly heldDeliveries: HeldDeliveries;
  readonly disabledEndpoints: DisabledEndpoints;
  readonly disablePolicy: DisablePolicy | 'never';
  readonly clock: Clock;
}

// A stale entry is rare: it takes a process that dies within a millisecond.
const CHECKED_AT_ONCE = 5;

/** How the attempts at endpoints go, and which endpoints get none. */
export class EndpointHealth {
  constructor(private readonly parts: EndpointHealthParts) {}

  /** All commands are sent at once: for many endpoints together it is one round trip. */
  async read({ id, maxConcurrency, status, createdAt, enabledAt = createdAt }: Endpoint): Promise<Health> {
    const { healthStore, admissionStore, heldDeliveries, disablePolicy, clock } = this.parts;
    const now = clock();
    const [record, breaker, held] = await Promise.all([
      healthStore.read(id, now),
      admissionStore.readBreaker(id),
      heldDeliveries.count(id),
    ]);
    const { failingSince } = breaker;
    const { phase, nextTryAt } = standingOfBreaker(breaker, now);
    const { lastSuccessAt } = record;
    return {
      ...recentAttempts(record, now),
      lastSuccessAt,
      lastFailure: record.lastFailure,
      breaker: phase,
      openUntil: nextTryAt,
      disabledFrom:
        status === 'disabled' || failingSince === undefined || disablePolicy === 'never'
          ? undefined
          : disabledFrom(disablePolicy, { failingSince, lastSuccessAt, enabledAt }),
      held,
      concurrency: standingOf(record.limits, maxConcurrency),
    };
  }

  /** The number of disabled endpoints. Each call checks some of them and removes stale entries. */
  async countDisabled(): Promise<number> {
    const { disabledEndpoints, endpointStore } = this.parts;
    const some = await disabledEndpoints.some(CHECKED_AT_ONCE);
    await Promise.all(
      some.map(async ({ accountId, endpointId, since }) => {
        const isDisabled = await endpointStore
          .find(accountId, endpointId)
          .then((endpoint) => endpoint?.status === 'disabled', staysCounted);
        if (!isDisabled) await disabledEndpoints.leave(accountId, endpointId, since);
      }),
    );
    return await disabledEndpoints.count();
  }
}

/**
 * An endpoint with unreadable secrets may well be disabled, and must not keep all others from being counted.
 */
function staysCounted(error: unknown): true {
  if (isUnreadableSecret(error)) return true;
  throw error;
}

// A worker reports its limit after an attempt: the endpoint's own bound may have changed since.
function standingOf(
  limits: readonly number[],
  most = Number.POSITIVE_INFINITY,
): ConcurrencyStanding | undefined {
  if (limits.length === 0) return undefined;
  return {
    limit: limits.reduce((sum, limit) => sum + Math.min(limit, most), 0),
    workers: limits.length,
    reason: limits.every((limit) => limit >= most) ? 'max_concurrency' : 'adaptive',
  };
}
