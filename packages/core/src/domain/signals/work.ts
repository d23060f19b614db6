import type { AccountId } from '../account';
import type { DeliveryId } from '../delivery';
import type { EventId } from '../event';
import type { WorkedQueue } from '../queues';
import { signal } from './define';
import { accountId, deliveryId, error, eventId } from './sample-facts';

/** A search by what events contain, or anything else. */
export const historyReadKinds = ['list', 'search'] as const;
export type HistoryReadKind = (typeof historyReadKinds)[number];
export const historyReadResults = ['succeeded', 'failed'] as const;
export type HistoryReadResult = (typeof historyReadResults)[number];

/** `secret_unreadable`: this worker can't open what it needs. `unavailable`: Redis or the history is away. `other`: a fault of ours. */
export const interruptionReasons = ['secret_unreadable', 'unavailable', 'other'] as const;
export type InterruptionReason = (typeof interruptionReasons)[number];

/** Of jobs, queues, background tasks and the history. */
export const workSignals = {
  'job.interrupted': signal<{
    queue: string;
    jobId: string;
    reason: InterruptionReason;
    error: unknown;
  }>({
    level: 'warn',
    means:
      'A worker could not finish a job; `error` has the cause. The job runs again, and no attempt is used.',
    act: 'If `reason` is `secret_unreadable`, see [WebhooksSecretsUnreadable](runbook.md#webhookssecretsunreadable). Otherwise the cause is mostly Redis.',
    sample: { queue: 'events', jobId: '17', reason: 'unavailable', error },
  }),
  'job.failed': signal<{
    queue: string;
    jobId: string;
    error: unknown;
    /** Whether the job does not run again by itself: it is a dead letter. */
    isForGood: boolean;
  }>({
    level: 'error',
    means: 'A job failed; `error` has the cause. With `is_for_good` it is a dead letter, else it runs again.',
    act: 'See [WebhooksJobsFailed](runbook.md#webhooksjobsfailed).',
    sample: { queue: 'events', jobId: '17', error, isForGood: true },
  }),
  /** This version can't read its data: it is delayed. */
  'job.too_new': signal<{
    queue: string;
    jobId: string;
    /** The version of its data. */
    version: number;
  }>({
    level: 'warn',
    means:
      "A later version of Hookferry wrote this job, and this worker can't read it. The job is delayed. If it is an event, the account's webhooks in order wait for it.",
    act: 'See [WebhooksJobsTooNew](runbook.md#webhooksjobstoonew).',
    sample: { queue: 'deliveries', jobId: '17', version: 2 },
  }),
  'dead_letter.retried': signal<{ queue: string; jobId: string }>({
    level: 'info',
    means: 'A dead letter was retried: its job is back on its queue.',
    sample: { queue: 'events', jobId: '17' },
  }),
  'dead_letter.dropped': signal<{ queue: string; jobId: string }>({
    level: 'info',
    means: 'A dead letter was dropped.',
    sample: { queue: 'events', jobId: '17' },
  }),
  /** There were too many of them, and it was the oldest. */
  'dead_letter.oldest_deleted': signal<{ queue: string; jobId: string }>({
    level: 'warn',
    means: 'There are too many dead letters, so the oldest was deleted.',
    act: '[Retry or drop](dead-letters.md) dead letters.',
    sample: { queue: 'events', jobId: '17' },
  }),
  /** A background task failed that nothing waits for. */
  'task.failed': signal<{
    task:
      | 'store the health of webhooks'
      | 'report the state of this worker'
      | 'count the load of accounts'
      | 'sample the queues and workers'
      | 'count stored bytes'
      | 'release events'
      | 'publish an operational event'
      | 'write a refusal to the audit log'
      | 'complete the audit log'
      | 'release held deliveries'
      | 'send waiting deliveries sooner'
      | 'verify webhooks'
      | 'notify contacts'
      | 'store the expiry of certificates'
      | 'read the number of shards'
      | 'move jobs to their shards'
      | 'find finished deliveries'
      | 'restore the bounds of moved records'
      | 'look for lost events'
      | 'queue due deliveries'
      | 'publish due events'
      | 'connect a listener'
      | 'disconnect a listener'
      | 'pass on the response of a listener'
      | 'ask whether a delivery to a listener may begin'
      | 'expire listeners'
      | 'read the messages of listeners'
      | 'find accounts with open streams'
      | 'write to the stream of changes'
      | 'read the stream of changes'
      | 'watch whether Redis goes back'
      | 'make good what Redis has lost'
      | 'copy the configuration'
      | 'bring back what was configured';
    error: unknown;
  }>({
    level: 'warn',
    means: 'A task in the background failed; `task` names it, and `error` has the cause. It runs again.',
    act: 'If it repeats, read `error`: the cause is mostly Redis.',
    sample: { task: 'store the health of webhooks', error },
  }),
  /** No worker takes jobs from this queue until an operator resumes it. */
  'queue.paused': signal<{ queue: WorkedQueue }>({
    level: 'warn',
    means:
      'A queue is paused: no worker takes its jobs. Each process says so within seconds, and one that starts meanwhile too.',
    act: 'See [WebhooksQueuePaused](runbook.md#webhooksqueuepaused). The [audit log](audit-log.md) has who paused it.',
    sample: { queue: 'deliveries' },
  }),
  'queue.resumed': signal<{ queue: WorkedQueue }>({
    level: 'info',
    means: 'A queue is no longer paused: workers take its jobs.',
    sample: { queue: 'deliveries' },
  }),
  /** The queues are split over another number of shards from now on. */
  'shards.changed': signal<{ inForce: number }>({
    level: 'info',
    means: 'The number of shards of the queues changed.',
    sample: { inForce: 4 },
  }),
  /**
   * This process has another number of shards configured than the last one that started. It uses that one's
   * number.
   */
  'shards.disagree': signal<{ wanted: number; inForce: number }>({
    level: 'warn',
    means:
      "This process has another `QUEUE_SHARDS` than the process that started last. It uses that one's value.",
    act: 'Give all processes the same value.',
    sample: { wanted: 1, inForce: 4 },
  }),
  /** No worker takes jobs from these shards: jobs that are put there wait. */
  'shards.unserved': signal<{
    /** Their numbers, from 0. */
    shards: string;
  }>({
    level: 'warn',
    means: 'No worker takes jobs from these shards. Their deliveries wait.',
    act: 'Correct `WORKER_SHARDS`, or start the missing workers.',
    sample: { shards: '1,3' },
  }),
  /** Finished deliveries, and events without deliveries, were moved from Redis to the history. */
  'history.moved': signal<{ count: number; durationMs: number }>({
    level: 'debug',
    means: 'Finished deliveries were moved from Redis to the history.',
    sample: { count: 20, durationMs: 30 },
  }),
  /** A page, or another result, was read from the history, or could not be. */
  'history.read': signal<{ kind: HistoryReadKind; result: HistoryReadResult; durationMs: number }>({
    level: 'debug',
    means: 'The API read the history. With `result` `failed` it could not.',
    sample: { kind: 'list', result: 'succeeded', durationMs: 8 },
  }),
  /** PostgreSQL or Redis can't be reached or can't serve. Finished deliveries stay in Redis and are tried again. */
  'history.failed': signal<{ error: unknown }>({
    level: 'warn',
    means:
      'A worker could not move finished deliveries, because PostgreSQL or Redis did not work. They stay in Redis, and the worker tries again.',
    act: 'See [WebhooksHistoryBacklogGrows](runbook.md#webhookshistorybackloggrows).',
    sample: { error },
  }),
  /** A day of the history is older than it is kept. */
  'history.day_dropped': signal<{ table: string }>({
    level: 'info',
    means: 'A day of the history was deleted, because it is older than `HISTORY_RETENTION`.',
    sample: { table: 'webhook_events_k90_20260826' },
  }),
  /** The history refused a finished delivery. It stays in Redis, and is not tried again. */
  'history.row_refused': signal<{
    accountId: AccountId;
    eventId: EventId;
    /** Absent: an event without deliveries. */
    deliveryId?: DeliveryId;
    code: string;
    reason: string;
  }>({
    level: 'warn',
    means: 'PostgreSQL refused a delivery; `reason` says why. It stays in Redis, and is not tried again.',
    act: 'See [WebhooksHistoryRefuses](runbook.md#webhookshistoryrefuses).',
    sample: { accountId, eventId, deliveryId, code: '23514', reason: '23514: no luck' },
  }),
  /** This worker takes nothing from a queue although jobs wait there, and Redis is not the reason. */
  'worker.stalled': signal<{ queue: WorkedQueue; forMs: number }>({
    level: 'error',
    means: 'A worker takes no jobs although jobs wait, and Redis works. Its `/healthz` responds with 503.',
    act: 'Restart the worker: see [WebhooksWorkerStalled](runbook.md#webhooksworkerstalled).',
    sample: { queue: 'deliveries', forMs: 60_000 },
  }),
} as const;
