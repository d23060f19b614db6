import { ReplyError } from 'ioredis';
import type { EndpointId } from '../../domain/endpoint';
import { keys } from '../../domain/keys';
import { type Atomic, createAtomic } from '../../platform/redis-atomic';
import type { RedisClient } from '../../platform/redis-connect';
import { groupsByCommand } from '../../platform/redis-script';
import {
  type AttemptTally,
  decodeDurations,
  decodeFailure,
  encodeDurations,
  encodeFailure,
  firstHourKept,
  HOUR_MS,
  type HourOfAttempts,
  healthFields,
  type LastFailure,
} from './attempt-tally';
import { addToHealth } from './redis-health-store.script';

// Longer than any time-out, so that a worker that only waits for responses still counts.
const LIMIT_GOOD_FOR_MS = 75_000;

/** The attempts that a worker has made at an endpoint. */
export interface AddedTally {
  readonly endpointId: EndpointId;
  readonly tally: AttemptTally;
  /** How many attempts the worker allows it to have running: a whole number. Absent: not known. */
  readonly limit?: number | undefined;
}

export interface NotAdded {
  readonly added: AddedTally;
  readonly error: unknown;
}

/** The recorded health of an endpoint. */
export interface HealthRecord extends AttemptTally {
  /** How many attempts each worker that has tried it recently allows. */
  readonly limits: readonly number[];
}

/** The attempts at an endpoint within one hour of the clock. */
export type HourCounts = Pick<HourOfAttempts, 'hour' | 'successes' | 'failures'>;

/**
 * The results of the attempts at each endpoint: counts and durations by the hour, the last success, the last
 * failure.
 */
export class HealthStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly retentionMs: number,
    private readonly atomic: Atomic = createAtomic(redis),
  ) {}

  /** Add to the records of some endpoints. Gives those that nothing was added to. */
  async addAll(added: readonly AddedTally[], now: number, workerId = ''): Promise<readonly NotAdded[]> {
    const groups = groupsByCommand(this.redis, added);
    return (await Promise.all(groups.map((group) => this.#addGroup(group, now, workerId)))).flat();
  }

  async #addGroup(group: readonly AddedTally[], now: number, worker: string): Promise<readonly NotAdded[]> {
    const hours = group.flatMap(({ tally }) => tally.hours);
    const adding = addToHealth({
      healths: group.map(({ endpointId }) => keys.health(endpointId)),
      firstKept: firstHourKept(now),
      keptMs: this.retentionMs + HOUR_MS,
      worker,
      now,
      tooOld: now - LIMIT_GOOD_FOR_MS,
      lastSuccesses: group.map(({ tally }) => tally.lastSuccessAt),
      lastFailures: group.map(({ tally }) => tally.lastFailure?.at),
      lastFailed: group.map(({ tally }) => tally.lastFailure && encodeFailure(tally.lastFailure)),
      // 0 says nothing.
      limits: group.map(({ limit }) => limit || undefined),
      hourCounts: group.map(({ tally }) => tally.hours.length),
      hours: hours.map(({ hour }) => hour),
      successes: hours.map(({ successes }) => successes),
      failures: hours.map(({ failures }) => failures),
      durations: hours.map(({ durations }) => encodeDurations(durations)),
    });
    try {
      const [refusals] = await this.atomic([adding]);
      return refusals.flatMap(({ number, error }) => {
        const added = group[number - 1];
        return added ? [{ added, error: new ReplyError(error) }] : [];
      });
    } catch (error) {
      return group.map((each) => ({ added: each, error }));
    }
  }

  async read(endpointId: EndpointId, now: number): Promise<HealthRecord> {
    const stored = await this.redis.hgetall(keys.health(endpointId));
    return { ...decode(stored), limits: decodeLimits(stored[healthFields.limits], now - LIMIT_GOOD_FOR_MS) };
  }

  /** Milliseconds since the Unix epoch; `undefined` if none is recorded. */
  async readLastSuccess(endpointId: EndpointId): Promise<number | undefined> {
    return toTime(await this.redis.hget(keys.health(endpointId), healthFields.lastSuccess));
  }

  /** `undefined` if none is recorded. */
  async readLastFailure(endpointId: EndpointId): Promise<LastFailure | undefined> {
    const { lastFailure, lastFailed } = healthFields;
    const [at, text] = await this.redis.hmget(keys.health(endpointId), lastFailure, lastFailed);
    return decodeFailure(at ?? undefined, text ?? undefined);
  }

  /** @param hours since the Unix epoch; one without attempts has zeros. */
  async readCounts(endpointId: EndpointId, hours: readonly number[]): Promise<readonly HourCounts[]> {
    const fields = hours.flatMap((hour) => [`s${hour}`, `f${hour}`]);
    const values = await this.redis.hmget(keys.health(endpointId), ...fields);
    return hours.map((hour, index) => ({
      hour,
      successes: Number(values[2 * index] ?? 0),
      failures: Number(values[2 * index + 1] ?? 0),
    }));
  }

  /** A worker may write its sums again afterwards; that record expires. */
  async remove(endpointId: EndpointId): Promise<void> {
    await this.redis.unlink(keys.health(endpointId));
  }
}

function decode(stored: Readonly<Record<string, string>>): AttemptTally {
  const numbers = Object.keys(stored).filter((field) => /^s\d+$/.test(field));
  const hours = numbers.map(
    (field): HourOfAttempts => ({
      hour: Number(field.slice(1)),
      successes: Number(stored[field]),
      failures: Number(stored[`f${field.slice(1)}`] ?? 0),
      durations: decodeDurations(stored[`d${field.slice(1)}`] ?? ''),
    }),
  );
  return {
    hours,
    lastSuccessAt: toTime(stored[healthFields.lastSuccess]),
    lastFailure: decodeFailure(stored[healthFields.lastFailure], stored[healthFields.lastFailed]),
  };
}

function decodeLimits(stored = '', tooOldAt: number): readonly number[] {
  const said = [...stored.matchAll(/\w+:(\d+):(\d+)/g)].map(([, limit, at]) => ({ limit, at }));
  return said.filter(({ at }) => Number(at) > tooOldAt).map(({ limit }) => Number(limit));
}

function toTime(stored: string | null | undefined): number | undefined {
  return stored === null || stored === undefined ? undefined : Number(stored);
}
