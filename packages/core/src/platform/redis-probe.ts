import { setTimeout as wait } from 'node:timers/promises';
import { Cluster } from 'ioredis';
import { type Clock, steadyClock } from './clock';
import type { RedisConfirmation } from './redis-confirmation';
import { keysOfMasters, mastersOf, type RedisClient } from './redis-connect';
import { tryWrite } from './redis-probe.script';
import { answerWithin } from './timers';

/** Whether Redis serves a process. `detail` is for operators: mostly Redis' own words. */
export type RedisStanding =
  | { readonly kind: 'takes_writes' }
  | { readonly kind: 'refuses_writes' | 'unavailable'; readonly detail: string };

export interface RedisProbeOptions {
  readonly redis: RedisClient;
  /** The key that is written, with this hash tag. Nothing reads it. */
  readonly keyOf: (tag: number) => string;
  /** Absent: a write counts as taken without replicas. */
  readonly confirmation?: RedisConfirmation | undefined;
  /** For spans of time: it never jumps. */
  readonly steady?: Clock | undefined;
}

// Below the second of Kubernetes' default probe time-out.
const PATIENCE_MS = 800;
const CONFIRMED_WITHIN_MS = 600;
const ASK_AGAIN_MS = 100;
// Each write may cost Redis a sync of its disk, and several may ask: balancers, orchestrators, Prometheus, anybody.
const WRITE_EVERY_MS = 2_000;
const WRITTEN_FOR_MS = 1_000;

const NO_CONNECTION =
  'There is no connection to Redis: redis.error in the log of this process has the cause.';

/**
 * Tells whether Redis replies within 0.8 s and takes writes: in a Cluster each of its masters, since accepting or delivering an
 * event may need any of them. It does nothing unless it is asked, and writes every two seconds at most: in between it reads.
 */
export class RedisProbe {
  #tookWritesAt = Number.NEGATIVE_INFINITY;
  #reconnectedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<RedisStanding> | undefined;

  readonly #steady: Clock;

  constructor(private readonly options: RedisProbeOptions) {
    this.#steady = options.steady ?? steadyClock;
    // The next connection may lead to another server.
    options.redis.on('close', () => {
      this.#tookWritesAt = Number.NEGATIVE_INFINITY;
    });
  }

  /** Callers of the same moment share one look. Never rejects, and never waits longer. */
  async look(): Promise<RedisStanding> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return await this.#looking;
  }

  async #look(): Promise<RedisStanding> {
    const { redis } = this.options;
    const isDue = this.#steady() - this.#tookWritesAt >= WRITE_EVERY_MS;
    const asked = this.#ask(isDue)
      .then(async (standing) => (isDue ? await this.#confirmed(standing) : standing))
      // Without a connection, a command fails by the client's own rules, and its words tell operators nothing.
      .catch((error: unknown) => unavailable(redis.status === 'ready' ? String(error) : NO_CONNECTION));
    const standing =
      (await answerWithin(PATIENCE_MS, asked)) ??
      unavailable(`Redis did not reply within ${PATIENCE_MS} ms.`);
    if (standing.kind === 'refuses_writes') this.#onRefusal(standing.detail);
    if (standing.kind === 'takes_writes' && isDue) this.#tookWritesAt = this.#steady();
    return standing;
  }

  async #ask(isWriting: boolean): Promise<RedisStanding> {
    const { redis, keyOf } = this.options;
    if (!(redis instanceof Cluster)) return standingOf([await this.#askFor(keyOf(0), isWriting)]);
    const keys = keysOfMasters(redis, keyOf);
    // The known masters may be none, or former ones. A command through the client goes where a request would go.
    if (keys.size === 0) await redis.exists(keyOf(0));
    const others = [...mastersOf(redis)].filter(([address]) => !keys.has(address));
    const pings = Promise.all(others.map(([, master]) => master.ping()));
    const refusals = await Promise.all(
      [...keys].map(async ([address, key]) => {
        const refusal = await this.#askFor(key, isWriting);
        return refusal === undefined ? undefined : `${address}: ${refusal}`;
      }),
    );
    await pings;
    return standingOf(refusals);
  }

  /** Writes that no replica confirms are refused. */
  async #confirmed(standing: RedisStanding): Promise<RedisStanding> {
    const { confirmation } = this.options;
    if (!confirmation || standing.kind !== 'takes_writes') return standing;
    const looked = confirmation.lookFor(confirmation.mark());
    const why = await answerWithin(
      CONFIRMED_WITHIN_MS,
      looked.then((error) => ({ error })),
    );
    if (why && !why.error) return standing;
    const reason = why?.error?.cause;
    const detail = reason instanceof Error ? reason.message : 'Its replicas do not confirm writes.';
    return { kind: 'refuses_writes', detail };
  }

  /** @returns why Redis does not write it. */
  async #askFor(key: string, isWriting: boolean): Promise<string | undefined> {
    const { redis } = this.options;
    if (isWriting) return await tryWrite({ check: key, forMs: WRITTEN_FOR_MS })(redis);
    await redis.exists(key);
    return undefined;
  }

  /**
   * A master that has become a replica behind the same connection: only another one leads to the present master, and without
   * readiness no request would make it.
   */
  #onRefusal(detail: string): void {
    const { redis } = this.options;
    const isRecent = this.#steady() - this.#reconnectedAt < WRITE_EVERY_MS;
    if (redis instanceof Cluster || isRecent || !detail.includes('READONLY')) return;
    this.#reconnectedAt = this.#steady();
    redis.disconnect(true);
  }
}

/** Resolves once Redis replies, however long that takes. */
export async function untilRedisAnswers(probe: Pick<RedisProbe, 'look'>): Promise<void> {
  while ((await probe.look()).kind === 'unavailable') await wait(ASK_AGAIN_MS);
}

function unavailable(detail: string): RedisStanding {
  return { kind: 'unavailable', detail };
}

function standingOf(refusals: readonly (string | undefined)[]): RedisStanding {
  const detail = refusals.find((refusal) => refusal !== undefined);
  return detail === undefined ? { kind: 'takes_writes' } : { kind: 'refuses_writes', detail };
}
