import { keys } from '../../domain/keys';
import type { Emit } from '../../domain/signal';
import { createLru } from '../../platform/caches';
import type { Clock } from '../../platform/clock';
import type { RedisClient } from '../../platform/redis-connect';

const DAY_MS = 86_400_000;
/** A certificate's owner is told so long before it expires, */
export const CERTIFICATE_EXPIRING_MS = 7 * DAY_MS;
/** or when this share of its life is left: those that live for days are renewed when half of that is over. */
const EXPIRING_SHARE = 1 / 8;
const REMEMBERED_HOSTS = 10_000;
const MOST_LISTED = 1_000;

/** The validity of a certificate. Milliseconds since the Unix epoch. */
export interface Validity {
  readonly from: number;
  readonly until: number;
}

export interface ReceiverCertificatesParts {
  readonly redis: RedisClient;
  readonly clock: Clock;
  readonly emit: Emit;
}

/**
 * The hosts of receivers whose certificates expire soon. They are seen when connections are opened, which check them
 * anyway; each host is written down once a day by a process, and only when it expires soon or has been renewed.
 */
export class ReceiverCertificates {
  /** Until when nothing is written of a host, and the certificate that this is true for. */
  readonly #seen = createLru<string, { readonly until: number; readonly expiresAt: number }>(
    REMEMBERED_HOSTS,
  );

  constructor(private readonly parts: ReceiverCertificatesParts) {}

  /** Note what a receiver has shown. It waits for nothing. */
  note(host: string, validity: Validity): void {
    const now = this.parts.clock();
    const seen = this.#seen.get(host);
    if (seen !== undefined && seen.until > now && seen.expiresAt === validity.until) return;
    this.#seen.set(host, { until: now + DAY_MS, expiresAt: validity.until });
    this.#write(host, validity, now).catch((error: unknown) => {
      this.#seen.delete(host);
      this.parts.emit({ name: 'task.failed', task: 'store the expiry of certificates', error });
    });
  }

  async #write(host: string, validity: Validity, now: number): Promise<void> {
    const { redis } = this.parts;
    const key = keys.expiringCertificates;
    if (!isExpiring(validity, now)) return void (await redis.zrem(key, host));
    await redis.zadd(key, validity.until, host);
    await redis.zremrangebyscore(key, '-inf', now - DAY_MS);
  }

  /** Host → when its certificate expires, of those that do so soon. Milliseconds since the Unix epoch. */
  async list(): Promise<ReadonlyMap<string, number>> {
    const { redis, clock } = this.parts;
    const from = clock();
    const found = await redis.zrangebyscore(
      ...([keys.expiringCertificates, from, '+inf', 'WITHSCORES', 'LIMIT', 0, MOST_LISTED] as const),
    );
    const hosts = new Map<string, number>();
    for (let each = 0; each < found.length; each += 2) hosts.set(found[each] ?? '', Number(found[each + 1]));
    return hosts;
  }
}

function isExpiring({ from, until }: Validity, now: number): boolean {
  return until - now <= Math.min(CERTIFICATE_EXPIRING_MS, (until - from) * EXPIRING_SHARE);
}
