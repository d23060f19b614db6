import { Counter, Histogram, type Registry } from 'prom-client';
import { attemptOutcomes, transformResultKinds } from '../domain/attempt';
import { contactKinds } from '../domain/contact';
import { deadLetterQueues } from '../domain/dead-letter';
import { holdReasons, requestTriggers, slowReasons } from '../domain/delivery';
import { endStatuses } from '../domain/delivery-log';
import { disabledReasons } from '../domain/endpoint';
import { workedQueues } from '../domain/queues';
import { replayEndStatuses, replayModes } from '../domain/replay';
import { type Signal, type SignalListener, type SignalNamed } from '../domain/signal';
import { brokenParts, tokenResults } from '../domain/signals/deliveries';
import { notificationResults } from '../domain/signals/endpoints';
import { eventSources, intakeGivenUp, intakeResults } from '../domain/signals/events';
import { connectionRefusals, httpMethods } from '../domain/signals/requests';
import { historyReadKinds, historyReadResults, interruptionReasons } from '../domain/signals/work';
import { doors } from '../domain/usage';
import { verificationErrors, verificationMethods } from '../domain/verification';
import type { ErrorCode } from '../platform/app-error';
import { confirmationResults } from '../platform/redis-confirmation';
import type { LabelValues, MetricDefinition, MetricLabels } from './prom-gauges';

/** Count signals. Gives the listener to pass them to. */
export function registerPromSignalMetrics(
  registry: Registry,
  metrics: readonly SignalMetric[],
): SignalListener {
  const byName = new Map<Signal['name'], SignalListener[]>();
  for (const metric of metrics) {
    const same = byName.get(metric.on) ?? [];
    byName.set(metric.on, [...same, metric.register(registry)]);
  }
  return (signal) => {
    for (const listen of byName.get(signal.name) ?? []) listen(signal);
  };
}

/** A metric made from signals. */
interface SignalMetric extends MetricDefinition {
  /** Their name. */
  readonly on: Signal['name'];
  /** Give the listener that it counts by. */
  register(registry: Registry): SignalListener;
}

type Member<Name extends Signal['name']> = keyof SignalNamed<Name> & string;

interface MetricOptions<Label extends string> {
  readonly name: string;
  readonly help: string;
  /** The members of the signal that become labels: from closed sets, never ids. */
  readonly labels?: Readonly<Record<Label, LabelValues>>;
}

interface CounterOptions<Name extends Signal['name'], Label extends string> extends MetricOptions<Label> {
  /**
   * Whether all values of its labels stand at zero from the start. Otherwise `increase()` would miss the
   * first of each: the exhausted delivery that an alert is about.
   */
  readonly fromZero?: true;
  /** The amount that a signal adds; by default one. */
  readonly amountOf?: (signal: SignalNamed<Name>) => number;
}

interface SecondsOptions<Name extends Signal['name'], Label extends string> extends MetricOptions<Label> {
  readonly buckets: number[];
  /** `undefined`: the signal does not count. */
  readonly durationMsOf: (signal: SignalNamed<Name>) => number | undefined;
}

/** Count signals of a name. */
function counterOf<Name extends Signal['name'], Label extends Member<Name> = never>(
  on: Name,
  { name, help, labels, fromZero, amountOf = () => 1 }: CounterOptions<Name, Label>,
): SignalMetric {
  const definition: MetricDefinition = { name, type: 'counter', help, labels: { ...labels } };
  const labelNames = Object.keys(definition.labels);
  return {
    ...definition,
    on,
    register(registry) {
      const counter = new Counter<string>({ name, help, labelNames, registers: [registry] });
      for (const start of fromZero ? valuesOf(definition.labels) : []) counter.inc(start, 0);
      return listenTo(on, (signal) => {
        const amount = amountOf(signal);
        if (amount > 0) counter.inc(labelsOf(signal, labelNames), amount);
      });
    },
  };
}

/** Measure the duration that signals of a name report. */
function secondsOf<Name extends Signal['name'], Label extends Member<Name> = never>(
  on: Name,
  { name, help, labels, buckets, durationMsOf }: SecondsOptions<Name, Label>,
): SignalMetric {
  const definition: MetricDefinition = { name, type: 'histogram', help, labels: { ...labels } };
  const labelNames = Object.keys(definition.labels);
  return {
    ...definition,
    on,
    register(registry) {
      const histogram = new Histogram<string>({ name, help, labelNames, buckets, registers: [registry] });
      return listenTo(on, (signal) => {
        const durationMs = durationMsOf(signal);
        if (durationMs !== undefined) histogram.observe(labelsOf(signal, labelNames), durationMs / 1_000);
      });
    },
  };
}

/** Every combination of the labels' values. */
function valuesOf(labels: MetricLabels): Record<string, string>[] {
  let all: Record<string, string>[] = [{}];
  for (const [label, values] of Object.entries(labels)) {
    const known = typeof values === 'string' ? [] : values;
    all = all.flatMap((each) => known.map((value) => ({ ...each, [label]: value })));
  }
  return all;
}

function listenTo<Name extends Signal['name']>(
  on: Name,
  take: (signal: SignalNamed<Name>) => void,
): SignalListener {
  const isOne = (signal: Signal): signal is SignalNamed<Name> => signal.name === on;
  return (signal) => {
    if (isOne(signal)) take(signal);
  };
}

function labelsOf(signal: Signal, labels: readonly string[]): Record<string, string> {
  // Each delivery makes several: built from entries they would cost three times as much.
  const values: Record<string, string> = {};
  for (const label of labels) values[label] = String(Reflect.get(signal, label));
  return values;
}

const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const ATTEMPT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30];
const HISTORY_READ_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3];
const TRANSFORM_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25];
const LAG_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3_600, 21_600, 86_400];

// Metrics of both processes: each counts its own signals, so the sum is right.
const eventsAccepted = counterOf('event.accepted', {
  name: 'webhooks_events_accepted_total',
  help: 'Accepted events, by type and source. The API counts those by HTTP, the worker those pushed onto the queue.',
  labels: { type: 'the event types that there are', source: eventSources },
});

const deliveriesRequested = counterOf('delivery.requested', {
  name: 'webhooks_deliveries_requested_total',
  help: 'Deliveries that were sent outside their schedule, by trigger. The API counts those that clients asked for, the worker those of replays.',
  labels: { trigger: requestTriggers },
  fromZero: true,
});

const deliveriesEnded = counterOf('delivery.ended', {
  name: 'webhooks_deliveries_ended_total',
  help: 'Deliveries that ended, by status: delivered, exhausted (the last attempt failed too), aborted (the receiver asked for it), cancelled (webhook deleted, payload erased, open for the retention, or by its transformation; by the API: dead letter dropped).',
  labels: { status: endStatuses },
  fromZero: true,
});

const endpointsDisabled = counterOf('endpoint.disabled', {
  name: 'webhooks_endpoints_disabled_total',
  help: 'Webhooks that were disabled, by reason: by their owner (client, counted by the API), by their receiver (gone: it responded with 410; receiver: it asked for it), or because they failed for too long (failing).',
  labels: { reason: disabledReasons },
  fromZero: true,
});

const quotaExceeded = counterOf('quota.exceeded', {
  name: 'webhooks_quota_rejections_total',
  help: 'Requests and pushed events that were refused because their account is over its quota. The API counts requests, the worker pushed events.',
  labels: { door: doors },
  fromZero: true,
});

/** The counters of the API. */
const historyReads = secondsOf('history.read', {
  name: 'webhooks_history_read_duration_seconds',
  help: 'Time of a read from the PostgreSQL of the history, waiting for a connection included, by kind (search: by the data of events) and result.',
  labels: { kind: historyReadKinds, result: historyReadResults },
  buckets: HISTORY_READ_SECONDS,
  durationMsOf: ({ durationMs }) => durationMs,
});

/** The codes of errors that are the service's own: `PROBLEMS` of the API gives them a 5xx. */
export const serverErrorCodes = [
  'internal_error',
  'secret_unreadable',
  'storage_unavailable',
  'clock_skewed',
  'history_unavailable',
] as const satisfies readonly ErrorCode[];

export const apiSignalMetrics: readonly SignalMetric[] = [
  historyReads,
  secondsOf('request.completed', {
    name: 'webhooks_http_request_duration_seconds',
    help: 'Time to respond to an HTTP request, by route and status.',
    labels: {
      method: httpMethods,
      route: 'the patterns of the routes; `none` if none has this path and method',
      status: 'the status codes that the API responds with',
    },
    buckets: REQUEST_SECONDS,
    durationMsOf: ({ durationMs }) => durationMs,
  }),
  secondsOf('intake.committed', {
    name: 'webhooks_intake_commit_duration_seconds',
    help: 'Time until PostgreSQL had kept the events of a turn before they were accepted, by result. Only with INTAKE=durable.',
    labels: { result: intakeResults },
    buckets: HISTORY_READ_SECONDS,
    durationMsOf: ({ durationMs }) => durationMs,
  }),
  secondsOf('redis.waited', {
    name: 'webhooks_redis_confirmation_duration_seconds',
    help: 'Time for which the API waited until as many replicas as `REDIS_CONFIRMED_BY` says had what its requests had written. One wait is for many requests.',
    labels: { result: confirmationResults },
    buckets: REQUEST_SECONDS,
    durationMsOf: ({ durationMs }) => durationMs,
  }),
  counterOf('request.completed', {
    name: 'webhooks_http_server_errors_total',
    help: 'Requests that ended with a 5xx, by the code of the error. 503 `history_unavailable` is a read of older records; nothing that was to be stored fails by it.',
    labels: { code: serverErrorCodes },
    fromZero: true,
    amountOf: ({ status, code }) => (status >= 500 && code !== undefined ? 1 : 0),
  }),
  counterOf('connection.refused', {
    name: 'webhooks_http_connections_refused_total',
    help: 'Connections that were closed and take no further request, by reason: malformed (not HTTP), too_many (more than MAX_CONNECTIONS), pipelined (too many requests sent ahead), and others.',
    labels: { reason: connectionRefusals },
    fromZero: true,
  }),
  eventsAccepted,
  endpointsDisabled,
  deliveriesRequested,
  deliveriesEnded,
  quotaExceeded,
];

/** The counters of a worker. */
export const workerSignalMetrics: readonly SignalMetric[] = [
  historyReads,
  eventsAccepted,
  quotaExceeded,
  counterOf('event.rejected', {
    name: 'webhooks_events_rejected_total',
    help: 'Jobs on the events queue that were no valid events and went to the dead letters, by error code.',
    labels: { code: 'the codes of errors that an event can have' },
  }),
  counterOf('delivery.attempted', {
    name: 'webhooks_delivery_attempts_total',
    help: 'Delivery attempts, by outcome.',
    labels: { outcome: attemptOutcomes },
    fromZero: true,
  }),
  secondsOf('delivery.attempted', {
    name: 'webhooks_delivery_attempt_duration_seconds',
    help: 'Time from the start of an attempt to its outcome.',
    buckets: ATTEMPT_SECONDS,
    durationMsOf: ({ durationMs }) => durationMs,
  }),
  // A connection is new if the attempt has the time that it took to open it.
  counterOf('delivery.attempted', {
    name: 'webhooks_delivery_connections_opened_total',
    help: 'Attempts for which a connection was opened.',
    amountOf: ({ connectMs }) => (connectMs === undefined ? 0 : 1),
  }),
  counterOf('delivery.attempted', {
    name: 'webhooks_delivery_connections_reused_total',
    help: 'Attempts over a connection that was kept alive.',
    amountOf: ({ connectMs, firstByteMs }) => (connectMs === undefined && firstByteMs !== undefined ? 1 : 0),
  }),
  counterOf('job.interrupted', {
    name: 'webhooks_jobs_interrupted_total',
    help: 'Times that a worker put a job back without an attempt, by queue and reason: secret_unreadable (SECRETS_ENCRYPTION_KEY lacks the key that sealed what it needs), unavailable (Redis or the history is away), other (a fault of Hookferry).',
    labels: { queue: workedQueues, reason: interruptionReasons },
    fromZero: true,
  }),
  counterOf('job.failed', {
    name: 'webhooks_jobs_failed_total',
    help: 'Jobs that failed for good and are dead letters now, by queue.',
    labels: { queue: deadLetterQueues },
    fromZero: true,
    amountOf: ({ isForGood }) => (isForGood ? 1 : 0),
  }),
  deliveriesEnded,
  counterOf('delivery.held', {
    name: 'webhooks_deliveries_held_total',
    help: 'Deliveries that were held, by reason. A delivery that is held twice counts twice.',
    labels: { reason: holdReasons },
    fromZero: true,
  }),
  counterOf('delivery.moved', {
    name: 'webhooks_deliveries_moved_total',
    help: "Attempts that counted among the slow ones, by reason: slow (they took long, or the webhook's last one did), `stranger` (nothing is known of the webhook, and too many like it were under way).",
    labels: { reason: slowReasons },
    fromZero: true,
  }),
  secondsOf('delivery.transformed', {
    name: 'webhooks_transformation_duration_seconds',
    help: 'Processor time that the code of webhooks took, by result: made (the body is sent), cancelled (the delivery ends), failed.',
    labels: { result: transformResultKinds },
    buckets: TRANSFORM_SECONDS,
    durationMsOf: ({ tookMs }) => tookMs,
  }),
  counterOf('transformation.broke_sandbox', {
    name: 'webhooks_transformation_sandboxes_broken_total',
    help: "Times that the code of webhooks brought down what it ran in, by part: instance (of WebAssembly), thread (it could not be stopped in time, and the account's code is paused when that repeats).",
    labels: { part: brokenParts },
    fromZero: true,
  }),
  counterOf('delivery.unsent', {
    name: 'webhooks_deliveries_unsent_total',
    help: "Deliveries that could not be sent because the proxy for deliveries failed, the listener was disconnected, or the account's transformations are paused. They are tried again, and no attempt is used.",
  }),
  counterOf('token.requested', {
    name: 'webhooks_token_requests_total',
    help: 'Requests for access tokens of webhooks with OAuth2, by result.',
    labels: { result: tokenResults },
  }),
  counterOf('breaker.opened', {
    name: 'webhooks_breakers_opened_total',
    help: 'Times that the circuit breaker of a webhook opened, or stayed open after a failed probe.',
  }),
  endpointsDisabled,
  counterOf('notification.attempted', {
    name: 'webhooks_notifications_total',
    help: 'Tries to send a message to a contact, by its kind and result.',
    labels: { kind: contactKinds, result: notificationResults },
    fromZero: true,
  }),
  counterOf('endpoint.verified', {
    name: 'webhooks_verifications_total',
    help: 'Webhooks that were verified, by method.',
    labels: { method: verificationMethods },
  }),
  counterOf('endpoint.verification_failed', {
    name: 'webhooks_verification_failures_total',
    help: 'Failed tries to verify a webhook, by method and error.',
    labels: { method: verificationMethods, error: verificationErrors },
  }),
  deliveriesRequested,
  counterOf('replay.ended', {
    name: 'webhooks_replays_ended_total',
    help: 'Replays that ended, by mode and status.',
    labels: { mode: replayModes, status: replayEndStatuses },
    fromZero: true,
  }),
  counterOf('intake.sent_again', {
    name: 'webhooks_intake_sent_again_total',
    help: 'Accepted events that Redis had lost, and that were sent from PostgreSQL. Only with INTAKE=durable.',
    amountOf: ({ count }) => count,
  }),
  counterOf('intake.given_up', {
    name: 'webhooks_intake_given_up_total',
    help: 'Accepted events that Redis had lost, and that are not sent again, by reason: too old, or none of their webhooks is there.',
    labels: { reason: intakeGivenUp },
    fromZero: true,
  }),
  counterOf('history.moved', {
    name: 'webhooks_history_moved_total',
    help: 'Finished deliveries, and events without any, that have moved from Redis to the history.',
    amountOf: ({ count }) => count,
  }),
  counterOf('history.failed', {
    name: 'webhooks_history_failures_total',
    help: 'Failed writes to the history. They are tried again, and deliveries continue.',
  }),
  counterOf('history.row_refused', {
    name: 'webhooks_history_refused_total',
    help: 'Deliveries that the history refused. They stay in Redis.',
  }),
  secondsOf('delivery.attempted', {
    name: 'webhooks_delivery_first_attempt_lag_seconds',
    help: 'Time from the acceptance of an event to the start of the first attempt of a delivery, without held deliveries: the delay by the service itself.',
    buckets: LAG_SECONDS,
    durationMsOf: ({ firstLagMs }) => firstLagMs,
  }),
  secondsOf('delivery.ended', {
    name: 'webhooks_delivery_lag_seconds',
    help: 'Time from the acceptance of an event, or from the request to send it again, to its delivery, retries and holding included.',
    buckets: LAG_SECONDS,
    durationMsOf: ({ status, lagMs }) => (status === 'delivered' ? lagMs : undefined),
  }),
  counterOf('event.dropped', {
    name: 'webhooks_events_dropped_total',
    help: 'Events on the queue that were dropped because their account is being erased, or was.',
  }),
  counterOf('job.too_new', {
    name: 'webhooks_jobs_too_new_total',
    help: 'Times that a job was left to a worker of a later version because this one cannot read its data, by queue.',
    labels: { queue: workedQueues },
    fromZero: true,
  }),
  counterOf('worker.stalled', {
    name: 'webhooks_worker_stalls_total',
    help: 'Times that this worker took nothing from a queue although jobs waited there.',
    labels: { queue: workedQueues },
    fromZero: true,
  }),
];
