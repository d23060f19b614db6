import type { ClockRightSignal, ClockSkewedSignal } from '../../platform/redis-clock';
import type { RedisWaitedSignal } from '../../platform/redis-confirmation';
import type { RedisBackSignal, RedisErrorSignal } from '../../platform/redis-connect';
import type { RedisReopenedSignal } from '../../platform/redis-keeper';
import type { RedisUnsafeSignal } from '../../platform/redis-safety';
import { signal } from './define';
import { error } from './sample-facts';

export interface RedisLossTimes {
  /** By Redis' clock. Absent: nothing is left of what it had. */
  readonly since?: string;
  /** When it was found. */
  readonly until: string;
}

/** Of a process and its connections. */
export const processSignals = {
  'redis.error': signal<Omit<RedisErrorSignal, 'name'>>({
    level: 'warn',
    means:
      'A connection to Redis failed, or a consumer (`connection` has its queue) could not take jobs. The process goes on by itself; `redis.back` of the same `connection` follows.',
    act: 'If `redis.back` does not follow within half a minute after Redis is there, see [WebhooksRedisUnreachable](runbook.md#webhooksredisunreachable).',
    sample: { connection: 'api-store', error },
  }),
  /** A library wrote this to the console. */
  'library.warned': signal<{ text: string }>({
    level: 'warn',
    means: 'A library wrote a warning; `text` has it.',
    act: 'Read it: mostly it is about a setting of Redis or of the collector of traces.',
    sample: { text: 'IMPORTANT! Eviction policy is allkeys-lru.' },
  }),
  'redis.back': signal<Omit<RedisBackSignal, 'name'>>({
    level: 'info',
    means: 'A connection to Redis works again.',
    sample: { connection: 'api', awayMs: 1_200 },
  }),
  'redis.reopened': signal<Omit<RedisReopenedSignal, 'name'>>({
    level: 'warn',
    means: 'A connection to Redis had given up, and the process opened it again.',
    sample: { connection: 'worker', status: 'end' },
  }),
  'redis.waited': signal<Omit<RedisWaitedSignal, 'name'>>({
    level: { usual: 'debug', other: 'warn', isOther: ({ result }) => result !== 'confirmed' },
    means:
      'An API waited until as many replicas as `REDIS_CONFIRMED_BY` says had what it had written. `warn` if they did not confirm it: the requests got 503.',
    act: 'Bring the replicas back: see [WebhooksRedisRefusesWrites](runbook.md#webhooksredisrefuseswrites).',
    sample: {
      result: 'too_few',
      durationMs: 1_002,
      replicas: 0,
      detail: 'REDIS_CONFIRMED_BY is 1, and 0 replicas confirmed a write within 1000 ms.',
    },
  }),
  'redis.unsafe': signal<Omit<RedisUnsafeSignal, 'name'>>({
    level: 'warn',
    means: 'With the present settings, Redis can lose events; `detail` says which.',
    act: 'Set what `detail` says: see [Redis](redis.md#settings).',
    sample: { detail: 'appendonly is no.' },
  }),
  /** It has an earlier state than before. */
  'redis.rolled_back': signal<RedisLossTimes>({
    level: 'error',
    means:
      'Redis went back to an earlier state: writes from `since` to `until` are lost, or all before `until` if `since` is missing. One worker says so.',
    act: 'Publish the events of that time again: see [WebhooksRedisRolledBack](runbook.md#webhooksredisrolledback).',
    sample: { since: '2026-11-21T16:13:00.000Z', until: '2026-11-21T16:13:08.000Z' },
  }),
  'redis.replaced': signal<RedisLossTimes>({
    level: 'info',
    means:
      'Another process of Redis serves than before, after a restart or a fail-over. It has everything from before `since`. Writes from then to `until` may be lost, and mostly are not.',
    sample: { since: '2026-11-21T16:13:07.000Z', until: '2026-11-21T16:13:08.000Z' },
  }),
  'clock.skewed': signal<Omit<ClockSkewedSignal, 'name'>>({
    level: { usual: 'warn', other: 'error', isOther: ({ isTooLarge }) => isTooLarge },
    means:
      'The clock of this machine differs from that of Redis by more than two seconds, or by more than a minute (`is_too_large`): then an API accepts no events, and a worker sends nothing.',
    act: 'Set the clock: see [WebhooksClockSkewed](runbook.md#webhooksclockskewed).',
    sample: {
      skewMs: 3_200,
      isTooLarge: false,
      detail: 'The clock of this machine is 3.2 s ahead of that of Redis.',
    },
  }),
  'clock.right': signal<Omit<ClockRightSignal, 'name'>>({
    level: 'info',
    means: 'The clocks of this machine and of Redis agree again.',
    sample: { skewMs: 4 },
  }),
  /** There is no key to seal secrets with: they are stored as plain text. */
  'secrets.unprotected': signal<{ detail: string }>({
    level: 'warn',
    means: 'Secrets are stored as plain text.',
    act: 'Set `SECRETS_ENCRYPTION_KEY`.',
    sample: {
      detail:
        'INSECURE_UNENCRYPTED_SECRETS is set, and SECRETS_ENCRYPTION_KEY is not: secrets are stored as plain text.',
    },
  }),
  /** Links to the portal begin with the host that a request names. */
  'public_url.unset': signal<{ detail: string }>({
    level: 'warn',
    means: 'Links to the portal begin with the host that a request names.',
    act: 'Set `PUBLIC_URL`.',
    sample: {
      detail: 'PUBLIC_URL is not set: links to the portal begin with the host that a request names.',
    },
  }),
  /** The service's retry schedule takes longer than a delivery may be open. */
  'retry_schedule.too_long': signal<{ detail: string }>({
    level: 'warn',
    means:
      'Deliveries are cancelled before the last attempts of `RETRY_SCHEDULE`, when their `RETENTION` is over.',
    act: 'Shorten `RETRY_SCHEDULE`, or lengthen `RETENTION`: see [deliveries](deliveries.md#how-long-a-delivery-may-be-open).',
    sample: { detail: 'RETRY_SCHEDULE takes up to 22h, and RETENTION is 12h.' },
  }),
  'process.started': signal<{ detail: string; version: string }>({
    level: 'info',
    means:
      'A process started; `detail` has its address, and the id of a worker; `version` its version, and [its commit](upgrading.md#which-version-runs) if that is known.',
    sample: { detail: 'API on http://0.0.0.0:3000', version: '0.1.0+86ae8b4799f4' },
  }),
  'process.stopping': signal<{ detail: string }>({
    level: 'info',
    means: 'A process was asked to stop. It finishes the work in progress; `detail` has the signal.',
    sample: { detail: 'SIGTERM' },
  }),
  'process.stopped': signal<object>({
    level: 'info',
    means: 'A process stopped.',
    sample: {},
  }),
  /** With `LOG_FORMAT=json`; otherwise it is written as plain text to standard error. */
  'process.not_started': signal<{ detail: string }>({
    level: 'error',
    means:
      'The process could not start, and ends; `detail` says why. Without `LOG_FORMAT=json` it is plain text on standard error.',
    act: 'Set what `detail` says.',
    sample: { detail: 'The configuration is not valid:\n  REDIS_URL: must be set' },
  }),
  'process.fault': signal<{ detail: string; error: unknown }>({
    level: 'error',
    means: 'A part of a process failed while it stopped, or did not stop in time. The process ends.',
    act: 'Unfinished jobs run again. If it repeats, report the lines: it is a fault of Hookferry.',
    sample: { detail: 'Stopping the queue failed.', error },
  }),
} as const;
