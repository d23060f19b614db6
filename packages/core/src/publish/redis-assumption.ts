import { Cluster, ReplyError } from 'ioredis';
import { parseStanding, type Standing } from '../accounts/redis-usage-store';
import type { AccountId, ApiKey } from '../domain/account';
import { keys } from '../domain/keys';
import type { EndpointsVersion } from '../endpoints/subscriptions';
import { AppError } from '../platform/app-error';
import type { Atomic, Results } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import { isLate } from '../platform/redis-deadline';
import { isUnavailable } from '../platform/redis-errors';
import { defineGuard, type ScriptTarget, type Step } from '../platform/redis-script';

/** The cached facts by which a publish request is admitted: its key and its account. */
export interface Assumed {
  readonly accountId: AccountId;
  readonly apiKey: ApiKey;
  /** The text of its record. */
  readonly apiKeyRecord: string;
  readonly endpointsVersion: EndpointsVersion;
}

// KEYS: api-key, version of the endpoints, used bytes, quota. ARGV: the assumed record and version, and the
// quota of an account that has none of its own. Gives whether both are still the same and the account has
// room, then the used bytes and the account's own quota.
const COMPARE = defineGuard(`
  local now = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
  local quota = tonumber(now[4] or ARGV[3])
  local is_over = quota > 0 and tonumber(now[3] or 0) >= quota
  local is_same = now[1] == ARGV[1] and (now[2] or '0') == ARGV[2]
  return {is_same and not is_over and 1 or 0, now[3], now[4]}`);

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
    return new Assumption(assumed, this.options.atomic, (target) => this.compare(target, assumed));
  }

  /** As a step, it keeps the later ones from running when it gives `false`. */
  async compare(target: ScriptTarget, assumed: Assumed): Promise<boolean> {
    const { accountId, apiKey, apiKeyRecord, endpointsVersion } = assumed;
    const compared = [
      keys.apiKey(apiKey.id),
      keys.endpointsVersion(accountId),
      keys.usedBytes(accountId),
      keys.quota(accountId),
    ];
    const reply = await COMPARE(target, compared, [
      apiKeyRecord,
      endpointsVersion,
      this.options.defaultQuotaBytes,
    ]);
    const [holds, used, quota] = reply as readonly [number, string | null, string | null];
    this.options.noteStanding(accountId, parseStanding(used, quota));
    return holds === 1;
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
    private readonly compare: (target: ScriptTarget) => Promise<boolean>,
  ) {}

  /** Assumptions with the same name have the same facts, and the same state of comparison. */
  get name(): string {
    const { accountId, apiKeyRecord, endpointsVersion } = this.assumed;
    return this.#isConfirmed ? accountId : `${accountId} ${endpointsVersion} ${apiKeyRecord}`;
  }

  /**
   * Run steps in their order, the first ones only if the assumption holds.
   *
   * @param others of the same name, whose steps these are as well.
   * @throws NoLongerTrue
   */
  async atomic<const Steps extends readonly Step[]>(
    steps: Steps,
    others: readonly Assumption[] = [],
  ): Promise<Results<Steps>> {
    if (this.#isConfirmed) return await this.runAtomic(steps);
    const [, ...results] = await this.runAtomic([this.#confirm, ...steps]);
    if (!this.#isConfirmed) throw new NoLongerTrue();
    for (const other of others) other.#isConfirmed = true;
    // The types know one list of steps, not one with a step before it.
    return results as Results<Steps>;
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

  readonly #confirm: Step = async (target) => {
    this.#isConfirmed = await this.compare(target);
  };
}

// Redis would not answer a second request either, and the client would wait twice as long. And of what came too late it is
// not known whether it had run before.
function isSilence(failure: unknown): boolean {
  const cause = failure instanceof AppError ? failure.cause : failure;
  return isUnavailable(failure) && (isLate(cause) || !(cause instanceof ReplyError));
}
