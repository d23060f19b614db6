import { levelOf, type Signal } from '../domain/signal';

interface Meaning {
  readonly means: string;
  /** What an operator does about it; absent: nothing. */
  readonly act?: string;
}

/** Every line of the log, by the name of its signal: for docs/logs.md, which `npm run logs` writes. */
export const logEvents: { readonly [Name in Signal['name']]: Meaning } = {
  'request.completed': {
    means:
      'The API answered a request. `info` if the status is 400 or more; `code` then has the [error](errors.md).',
  },
  'connection.refused': {
    means:
      'The API closed a connection without answering its request; `reason` says why. A client sent something that is not HTTP, was too slow, or had too many connections.',
  },
  'request.failed': {
    means: 'The API answered a request with 500 or 503. `error` has the cause.',
    act: 'If `error` is not about Redis or PostgreSQL, report the line: it is a fault of Hookferry.',
  },
  'event.accepted': { means: 'The API or a worker accepted an event.' },
  'event.queued': { means: 'The event has many receivers. A worker creates its deliveries.' },
  'event.scheduled': { means: 'A scheduled event was accepted. It is sent at `deliver_at`.' },
  'event.rescheduled': { means: 'A scheduled event was moved to another time.' },
  'event.cancelled': { means: 'A scheduled event was cancelled. It is not sent.' },
  'event.dropped': {
    means:
      'An event from the queue `events` was discarded, because its account was erased or is being erased.',
    act: 'Stop the producer that still publishes for this account.',
  },
  'signing_key.rotated': {
    means: 'An account got a new signing key. With `immediate` the earlier keys ended at once.',
  },
  'notification.queued': { means: 'A message to a contact waits to be sent; `topic` says what it is about.' },
  'notification.attempted': {
    means:
      'A worker tried to send a message to a contact. `warn` if that failed; `error` says why. With `result` `retried` it tries again.',
    act: 'See [WebhooksNotificationsFail](runbook.md#webhooksnotificationsfail).',
  },
  'account.erasing': { means: 'The erasure of an account began.' },
  'account.erased': { means: 'All data of an account are erased.' },
  'event.payload_erased': { means: 'The payload of an event is erased.' },
  'event.rejected': {
    means:
      'A job on the queue `events` is not a valid event; `reason` says why. It is kept as a dead letter, and is not delivered.',
    act: 'Correct the producer: see [WebhooksDeadLetters](runbook.md#webhooksdeadletters).',
  },
  'operational_event.raised': {
    means: "An event about one of an account's own webhooks was published to that account.",
  },
  'audit.refusals_left_out': {
    means: 'More requests were refused at once than the audit log takes. These are not in it.',
  },
  'event.fanned_out': { means: 'The deliveries of an event were created; `deliveries` is their number.' },
  'delivery.attempted': {
    means:
      'A worker made an attempt. `warn` if it failed; `outcome` says how. With `next_delay_ms` there is a retry.',
  },
  'delivery.batch_halved': {
    means:
      'A receiver answered 413 to a request with several events. The events are sent in two requests. For ten minutes, requests to this webhook are smaller.',
  },
  'delivery.transformed': { means: "The webhook's code ran for a delivery." },
  'transformation.charged': {
    means:
      "The processor time that an account's code has cost, with threads that were started because of it.",
  },
  'transformation.broke_sandbox': {
    means:
      "An account's code brought down the instance of WebAssembly that it ran in, or (`part`: `thread`, then `warn`) could not be stopped in time. With `paused_for_ms` this process runs no code of the account for so long.",
    act: 'Ask the account to correct its code: see [Bounds](transformations.md#bounds).',
  },
  'delivery.unsent': {
    means:
      'A request could not be sent, because the proxy for deliveries does not work. The delivery waits. This is no attempt. With `paused_for_ms` (`debug`), the transformations of its account are paused.',
    act: 'Repair the proxy (`DELIVERY_PROXY_URL`).',
  },
  'delivery.blocked': {
    means: "A webhook's host has an address that deliveries may not go to. The attempt failed.",
    act: 'If the address is yours, add its range to `DELIVERY_ALLOWED_CIDRS`.',
  },
  'token.requested': {
    means:
      'A worker asked an authorization server for the access token of a webhook. `warn` if it got none; `result` says why.',
    act: 'If many webhooks use this server, check whether it works: see [When there is no token](receiver-auth.md#when-there-is-no-token).',
  },
  'delivery.ended': { means: 'A delivery ended; `status` says how. `warn` unless it was delivered.' },
  'delivery.requested': {
    means:
      'A delivery is sent outside its schedule: by hand, by a replay or as a test; `trigger` says which.',
  },
  'replay.progressed': { means: 'A replay counted or sent some more deliveries.' },
  'replay.ended': { means: 'A replay ended; `status` says how, `enqueued` how many deliveries it sent.' },
  'delivery.follow_up_failed': {
    means: 'Redis did not store the result of an attempt. The worker tries to store it again.',
    act: 'If it repeats, check the memory and the disk of Redis: see [WebhooksRedisUnreachable](runbook.md#webhooksredisunreachable).',
  },
  'delivery.held': { means: 'A delivery is held, without using an attempt; `reason` says why.' },
  'delivery.moved': {
    means:
      'An attempt takes long. It now uses one of the slots for slow attempts, so that others need not wait for it.',
  },
  'breaker.opened': {
    means:
      'A webhook failed several times in a row. Its deliveries are held for `open_for_ms`, then one is tried.',
  },
  'breaker.closed': { means: 'A webhook accepts deliveries again. Its held deliveries are sent.' },
  'listener.connected': { means: 'A listener, such as `hookferry listen`, connected.' },
  'listener.lost': { means: 'The connection of a listener ended; `reason` says why.' },
  'endpoint.created': { means: 'A webhook was registered.' },
  'endpoint.updated': { means: 'A webhook was changed.' },
  'endpoint.deleted': { means: 'A webhook was deleted. Its pending deliveries are cancelled.' },
  'endpoint.enabled': { means: 'A webhook was enabled. Its held deliveries are sent.' },
  'endpoint.disabled': { means: 'A webhook was disabled; `reason` says why. Its deliveries are held.' },
  'endpoint.verified': { means: 'The receiver of a webhook proved that it wants its events.' },
  'endpoint.verification_failed': {
    means:
      'A request to verify a webhook failed; `error` says why. With `is_last` there is no further one: the account has to ask for it.',
  },
  'change_stream.ended': { means: 'The API ended a stream of changes; `reason` says why.' },
  'job.interrupted': {
    means:
      'A worker could not finish a job; `error` has the cause. The job runs again, and no attempt is used.',
    act: 'If `error` names a secret, see [secrets at rest](security.md#secrets-at-rest). Otherwise the cause is mostly Redis.',
  },
  'job.failed': {
    means: 'A job failed; `error` has the cause. With `is_for_good` it is a dead letter, else it runs again.',
    act: 'See [WebhooksJobsFailed](runbook.md#webhooksjobsfailed).',
  },
  'job.too_new': {
    means:
      "A later version of Hookferry wrote this job, and this worker can't read it. The job is delayed. If it is an event, the account's webhooks in order wait for it.",
    act: 'See [WebhooksJobsTooNew](runbook.md#webhooksjobstoonew).',
  },
  'dead_letter.redriven': { means: 'A dead letter was put back onto its queue.' },
  'dead_letter.dropped': { means: 'A dead letter was dropped.' },
  'dead_letter.oldest_deleted': {
    means: 'There are too many dead letters, so the oldest was deleted.',
    act: '[Redrive or drop](dead-letters.md) dead letters.',
  },
  'task.failed': {
    means: 'A task in the background failed; `task` names it, and `error` has the cause. It runs again.',
    act: 'If it repeats, read `error`: the cause is mostly Redis.',
  },
  'shards.changed': { means: 'The number of shards of the queues changed.' },
  'shards.disagree': {
    means:
      "This process has another `QUEUE_SHARDS` than the process that started last. It uses that one's value.",
    act: 'Give all processes the same value.',
  },
  'shards.unserved': {
    means: 'No worker takes jobs from these shards. Their deliveries wait.',
    act: 'Correct `WORKER_SHARDS`, or start the missing workers.',
  },
  'quota.exceeded': { means: 'A request was refused, because its account stores as much as it may.' },
  'history.moved': { means: 'Finished deliveries were moved from Redis to the history.' },
  'history.read': { means: 'The API read the history. With `result` `failed` it could not.' },
  'history.failed': {
    means:
      'A worker could not move finished deliveries, because PostgreSQL or Redis did not work. They stay in Redis, and the worker tries again.',
    act: 'See [WebhooksHistoryBacklogGrows](runbook.md#webhookshistorybackloggrows).',
  },
  'history.day_dropped': {
    means: 'A day of the history was deleted, because it is older than `HISTORY_RETENTION`.',
  },
  'history.row_refused': {
    means: 'PostgreSQL refused a delivery; `reason` says why. It stays in Redis, and is not tried again.',
    act: 'See [WebhooksHistoryRefuses](runbook.md#webhookshistoryrefuses).',
  },
  'redis.error': {
    means: 'A connection to Redis failed. The process connects again by itself.',
    act: 'If `redis.back` does not follow, see [WebhooksRedisUnreachable](runbook.md#webhooksredisunreachable).',
  },
  'library.warned': {
    means: 'A library wrote a warning; `text` has it.',
    act: 'Read it: mostly it is about a setting of Redis or of the collector of traces.',
  },
  'redis.back': { means: 'A connection to Redis works again.' },
  'redis.reopened': { means: 'A connection to Redis had given up, and the process opened it again.' },
  'worker.stalled': {
    means: 'A worker takes no jobs although jobs wait, and Redis works. Its `/healthz` answers 503.',
    act: 'Restart the worker: see [WebhooksWorkerStalled](runbook.md#webhooksworkerstalled).',
  },
  'redis.unsafe': {
    means: 'With the present settings, Redis can lose events; `detail` says which.',
    act: 'Set what `detail` says: see [Redis](redis.md#settings).',
  },
  'clock.skewed': {
    means:
      'The clock of this machine differs from that of Redis by more than two seconds, or by more than a minute (`is_too_large`): then an API accepts no events, and a worker sends nothing.',
    act: 'Set the clock: see [WebhooksClockSkewed](runbook.md#webhooksclockskewed).',
  },
  'clock.right': { means: 'The clocks of this machine and of Redis agree again.' },
  'secrets.unprotected': { means: 'Secrets are stored as plain text.', act: 'Set `SECRETS_ENCRYPTION_KEY`.' },
  'retry_schedule.too_long': {
    means:
      'Deliveries are cancelled before the last attempts of `RETRY_SCHEDULE`, when their `RETENTION` is over.',
    act: 'Shorten `RETRY_SCHEDULE`, or lengthen `RETENTION`: see [deliveries](deliveries.md#how-long-a-delivery-may-be-open).',
  },
  'public_url.unset': {
    means: 'Links to the portal begin with the host that a request names.',
    act: 'Set `PUBLIC_URL`.',
  },
  'process.started': { means: 'A process started; `detail` has its address, and the id of a worker.' },
  'process.stopping': {
    means: 'A process was asked to stop. It finishes the work in progress; `detail` has the signal.',
  },
  'process.stopped': { means: 'A process stopped.' },
  'process.fault': {
    means: 'A part of a process failed while it stopped, or did not stop in time. The process ends.',
    act: 'Unfinished jobs run again. If it repeats, report the lines: it is a fault of Hookferry.',
  },
};

// What a level depends on: the status of an answer or of a delivery, the outcome of an attempt, how wrong a clock is, and what
// code broke or waits for.
const CASES = [
  { status: 200, outcome: 'delivered' },
  { status: 'delivered' },
  { status: 500, outcome: 'http_5xx', isTooLarge: true, part: 'thread', pausedForMs: 30_000 },
];

/** The levels that a signal is logged at. */
export function levelsOf(name: Signal['name']): readonly string[] {
  return [...new Set(CASES.map((one) => levelOf({ ...one, name } as unknown as Signal)))];
}
