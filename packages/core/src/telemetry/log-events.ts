import { levelOf, type Signal } from '../domain/signal';

interface Meaning {
  readonly means: string;
  /** What an operator does about it; absent: nothing. */
  readonly act?: string;
}

/** Every line of the log, by the name of its signal: for docs/logs.md, which `npm run logs` writes. */
export const logEvents: { readonly [Name in Signal['name']]: Meaning } = {
  'request.completed': { means: 'The API answered a request.' },
  'connection.refused': { means: 'The API closed a connection without taking its request.' },
  'request.failed': {
    means: 'A request ended with 500.',
    act: 'Keep the lines and report them: it is a fault of Hookferry.',
  },
  'event.accepted': { means: 'An event was accepted.' },
  'event.queued': { means: 'An event has many receivers. A worker makes its deliveries.' },
  'event.scheduled': { means: 'An event was accepted, and is sent later.' },
  'event.rescheduled': { means: 'A scheduled event has another time.' },
  'event.cancelled': { means: 'A scheduled event was cancelled. It is sent to nobody.' },
  'event.dropped': { means: 'An event was dropped, because its account is being erased.' },
  'signing_key.rotated': { means: 'An account has a new signing key.' },
  'notification.queued': { means: 'A message to a contact is queued; `topic` says what it is about.' },
  'notification.attempted': {
    means: 'A message was sent to a contact: `warn` if that failed; `error` says why.',
    act: 'See [WebhooksNotificationsFail](runbook.md#webhooksnotificationsfail).',
  },
  'account.erasing': { means: 'The erasure of an account has begun.' },
  'account.erased': { means: 'All data of an account are erased.' },
  'event.payload_erased': { means: 'The data of an event are erased.' },
  'event.rejected': {
    means: 'A job on the queue `events` is no valid event. It is a dead letter.',
    act: 'Tell the producer: see [WebhooksDeadLetters](runbook.md#webhooksdeadletters).',
  },
  'operational_event.raised': { means: 'An account gets an event about one of its own webhooks.' },
  'audit.refusals_left_out': { means: 'Too many requests were refused at once to be in an audit log.' },
  'event.fanned_out': { means: 'An event has one delivery for each of its receivers.' },
  'delivery.attempted': { means: 'An attempt was made: `warn` if it failed.' },
  'delivery.batch_halved': {
    means:
      'A receiver answered 413 to a request with several events: they go in two requests, and those after them are smaller for ten minutes.',
  },
  'delivery.transformed': { means: "The webhook's code was run for a delivery." },
  'delivery.unsent': {
    means: 'The proxy for deliveries does not work. The delivery waits; no attempt is used.',
    act: 'Repair the proxy (`DELIVERY_PROXY_URL`).',
  },
  'delivery.blocked': {
    means: 'A delivery would have gone to an address that is not permitted.',
    act: 'Add the range to `DELIVERY_ALLOWED_CIDRS` if it is yours.',
  },
  'token.requested': {
    means: 'An authorization server was asked for the access token of a webhook: `warn` if it gave none.',
    act: 'If many webhooks share the server, see whether it works: [what it may have answered](receiver-auth.md#when-there-is-no-token).',
  },
  'delivery.ended': { means: 'A delivery ended: `warn` unless it was accepted.' },
  'delivery.requested': { means: 'A delivery is sent once more, by hand, by a replay or as a test.' },
  'replay.progressed': { means: 'A replay made progress.' },
  'replay.ended': { means: 'A replay ended.' },
  'delivery.follow_up_failed': {
    means: 'Redis did not take the result of an attempt. It is tried again.',
    act: 'Check the memory and the disk of Redis.',
  },
  'delivery.held': { means: 'A delivery is held, without using an attempt.' },
  'delivery.moved': { means: 'An attempt takes long, and uses a slot for slow ones.' },
  'breaker.opened': {
    means: 'A webhook failed several times in a row. Its deliveries are held for a while.',
  },
  'breaker.closed': { means: 'The webhook accepts again. Its deliveries continue.' },
  'listener.connected': { means: 'A listener, such as `hookferry listen`, has connected.' },
  'listener.lost': { means: 'The connection of a listener ended.' },
  'endpoint.created': { means: 'A webhook was registered.' },
  'endpoint.updated': { means: 'A webhook was changed.' },
  'endpoint.deleted': { means: 'A webhook was deleted. Its pending deliveries are cancelled.' },
  'endpoint.enabled': { means: 'A webhook was enabled. Its held deliveries are sent.' },
  'endpoint.disabled': { means: 'A webhook was disabled; `reason` says why. Its deliveries are held.' },
  'endpoint.verified': { means: 'The receiver of a webhook proved that it wants its events.' },
  'endpoint.verification_failed': {
    means: 'A try to verify a webhook failed; `error` says why. With `is_last` there is no other one.',
  },
  'change_stream.ended': { means: 'The API ended a stream of changes.' },
  'job.interrupted': { means: 'A job was interrupted. It runs again.' },
  'job.failed': {
    means: 'A job failed; with `is_for_good` it is a dead letter.',
    act: 'See [WebhooksJobsFailed](runbook.md#webhooksjobsfailed).',
  },
  'job.too_new': {
    means: 'A later version wrote the data of a job. The job is delayed.',
    act: 'See [WebhooksJobsTooNew](runbook.md#webhooksjobstoonew).',
  },
  'dead_letter.redriven': { means: 'A dead letter was put back onto its queue.' },
  'dead_letter.dropped': { means: 'A dead letter was dropped.' },
  'dead_letter.displaced': {
    means: 'There are too many dead letters. The oldest was deleted.',
    act: 'Redrive or drop dead letters.',
  },
  'task.failed': {
    means: 'A task in the background failed; `task` names it. It runs again.',
    act: 'If it repeats, read `error`: mostly Redis.',
  },
  'shards.changed': { means: 'The number of shards of the queues changed.' },
  'shards.disagree': {
    means: '`QUEUE_SHARDS` differs between processes.',
    act: 'Give all processes the same value.',
  },
  'shards.unserved': {
    means: 'No worker takes jobs from these shards.',
    act: 'Correct `WORKER_SHARDS`, or start the missing workers.',
  },
  'quota.exceeded': { means: 'A request was refused, because its account stores as much as it may.' },
  'history.moved': { means: 'Finished deliveries moved from Redis to the history.' },
  'history.read': { means: 'The history was read.' },
  'history.failed': {
    means: 'PostgreSQL or Redis could not be reached. Finished deliveries stay in Redis and are tried again.',
    act: 'See [WebhooksHistoryBacklogGrows](runbook.md#webhookshistorybackloggrows).',
  },
  'history.day_dropped': {
    means: 'A day of the history is older than `HISTORY_RETENTION`, and was deleted.',
  },
  'history.refused': {
    means: 'PostgreSQL refused a delivery. It stays in Redis.',
    act: 'See [WebhooksHistoryRefuses](runbook.md#webhookshistoryrefuses).',
  },
  'redis.error': {
    means: 'A connection to Redis failed.',
    act: 'See [WebhooksRedisUnreachable](runbook.md#webhooksredisunreachable).',
  },
  'library.warned': { means: 'A library wrote a warning.' },
  'redis.back': { means: 'A connection to Redis works again.' },
  'redis.revived': { means: 'A connection to Redis had ended by itself and was opened again.' },
  'worker.stalled': {
    means: 'A worker takes no jobs although jobs wait. Its `/healthz` answers 503.',
    act: 'See [WebhooksWorkerStalled](runbook.md#webhooksworkerstalled).',
  },
  'redis.unsafe': {
    means: 'A setting of Redis can lose events.',
    act: 'Set what `detail` says: see [Redis](redis.md#settings).',
  },
  'secrets.unprotected': {
    means: 'Secrets are stored as plain text.',
    act: 'Set `SECRETS_ENCRYPTION_KEY`.',
  },
  'public_url.unset': {
    means: 'Links to the portal begin with the host that a request names.',
    act: 'Set `PUBLIC_URL`.',
  },
  'process.started': { means: 'A process has started; `detail` has its version.' },
  'process.stopping': { means: 'A process was told to stop, and finishes what it does.' },
  'process.stopped': { means: 'A process has stopped.' },
  'process.fault': {
    means: 'A process ends because of a fault.',
    act: 'Keep the lines and report them: it is a fault of Hookferry.',
  },
};

// What a level depends on: the status of an answer or of a delivery, and the outcome of an attempt.
const CASES = [
  { status: 200, outcome: 'delivered' },
  { status: 'delivered' },
  { status: 500, outcome: 'http_5xx' },
];

/** The levels that a signal is logged at. */
export function levelsOf(name: Signal['name']): readonly string[] {
  return [...new Set(CASES.map((one) => levelOf({ ...one, name } as unknown as Signal)))];
}
