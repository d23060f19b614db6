import { Cluster, ReplyError } from 'ioredis';
import { parseStanding, type Standing } from '../accounts/redis-usage-store';
import type { AccountId, ApiKey } from '../domain/account';
import type { EndpointsVersion } from '../endpoints/subscriptions';
import { AppError } from '../platform/app-error';
import { type Atomic, mapReply, type Results } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import { isLate } from '../platform/redis-deadline';
import { isUnavailable } from '../platform/redis-errors';
import type { Guard } from '../platform/redis-lua';
import type { Step } from '../platform/redis-script';
import { compareAssumed } from './redis-assumption.script';

/** The cached facts by which a publish request is admitted: its key and its account. */
export interface Assumed {
  readonly accountId: AccountId;
  readonly apiKey: ApiKey;
  /** The text of its record. */
  readonly apiKeyRecord: string;
  readonly endpointsVersion: EndpointsVersion;
}

export interface AssumptionsOptions {
  /** Runs a step on this Redis. */
  readonly atomic: Atomic;
  /** The default quota of an account; 0: unlimited. */
  readonly defaultQuotaBytes: number;
  /** Called with the usage of an account whenever it was read. */
  readonly noteStanding: (accountId: AccountId, standing: Standing) => void;
}

/**
 * Admits publish requests by the cached key and account. The script that stores the events compares them with Redis. So a
 * publish takes one round trip, and no change is missed.
 */
export class Assumptions {
  /** In a Cluster the keys to compare are on other nodes than the events: there they are read first. */
  readonly arePossible: boolean;

  constructor(
    redis: RedisClient,
    private readonly options: AssumptionsOptions,
  ) {
    this.arePossible = !(redis instanceof Cluster);
  }

  make(assumed: Assumed): Assumption {
    return new Assumption(assumed, this.options.atomic, () => this.#compare(assumed));
  }

  /** Gives whether they hold. If not, the steps after it do not run. */
  #compare({ accountId, apiKey, apiKeyRecord, endpointsVersion }: Assumed): Guard<boolean> {
    const step = compareAssumed({
      account: accountId,
      id: apiKey.id,
      assumedKey: apiKeyRecord,
      assumedVersion: endpointsVersion,
      defaultQuota: this.options.defaultQuotaBytes,
    });
    return mapReply(step, ({ holds, usedBytes, ownQuota }) => {
      this.options.noteStanding(accountId, parseStanding(usedBytes, ownQuota));
      return holds;
    });
  }
}

/** The cached facts have changed. Nothing was stored: the request has to be decided again, with facts from Redis. */
export class NoLongerTrue extends Error {
  override readonly name = 'NoLongerTrue';
}

/** The cached facts of one request. They are compared once, with the first write of the request. */
export class Assumption {
  #isConfirmed = false;

  constructor(
    readonly assumed: Assumed,
    private readonly runAtomic: Atomic,
    private readonly compare: () => Guard<boolean>,
  ) {}

  /** Assumptions with the same name have the same facts, and the same state of comparison. */
  get name(): string {
    const { accountId, apiKeyRecord, endpointsVersion } = this.assumed;
    return this.#isConfirmed ? accountId : `${accountId} ${endpointsVersion} ${apiKeyRecord}`;
  }

  /**
   * Run steps in their order, the first ones only if the assumption holds.
   *
   * @param sharers assumptions of the same name, whose steps these are as well.
   * @throws NoLongerTrue
   */
  async atomic<const Steps extends readonly Step[]>(
    steps: Steps,
    sharers: readonly Assumption[] = [],
  ): Promise<Results<Steps>> {
    if (this.#isConfirmed) return await this.runAtomic(steps);
    const { results, error } = await this.runAtomic.tried([this.compare(), ...steps]);
    const [holds, ...others] = results;
    if (holds === false) throw new NoLongerTrue();
    // Also when a later step has failed.
    this.#isConfirmed = holds === true;
    if (error !== undefined) throw error;
    for (const same of sharers) same.#isConfirmed = true;
    // It holds: so what follows it was not left out.
    return others as Results<Steps>;
  }

  /** Compare now, unless that was done. @throws NoLongerTrue */
  async confirm(): Promise<void> {
    if (!this.#isConfirmed) await this.atomic([]);
  }

  /**
   * Whether a failure is final. `false`: the cached facts have changed, so the request has to be decided again.
   *
   * @throws Error of Redis when it can't tell.
   */
  async standsBehind(failure: unknown): Promise<boolean> {
    if (failure instanceof NoLongerTrue) return false;
    if (!this.#isConfirmed && isSilence(failure)) throw failure;
    try {
      await this.confirm();
      return true;
    } catch (error) {
      if (error instanceof NoLongerTrue) return false;
      throw error;
    }
  }
}

// Redis would not answer a second request either, and the client would wait twice as long. And of what came too late it is
// not known whether it had run before.
function isSilence(failure: unknown): boolean {
  const cause = failure instanceof AppError ? failure.cause : failure;
  return isUnavailable(failure) && (isLate(cause) || !(cause instanceof ReplyError));
}
