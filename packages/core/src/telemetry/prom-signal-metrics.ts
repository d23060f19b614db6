import type { Registry } from 'prom-client';
import { attemptOutcomes } from '../model/attempt';
import { deadLetterQueues } from '../model/dead-letter';
import { endStatuses } from '../model/delivery-log';
import { disabledReasons } from '../model/endpoint';
import { holdReasons } from '../model/hold-reason';
import { createEmit, type SignalListener } from '../model/signal';
import { doors } from '../model/usage';
import { counterOf, type SignalMetric, secondsOf } from './prom-signal-metric';

const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const ATTEMPT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30];
const LAG_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3_600, 21_600, 86_400];

/** What the API counts. */
export function createPromApiMetrics(registry: Registry): SignalListener {
  return createEmit(apiMetrics.map((register) => register(registry)));
}

/** What the worker counts. */
export function createPromWorkerMetrics(registry: Registry): SignalListener {
  return createEmit(workerMetrics.map((register) => register(registry)));
}

// What both count is counted by each process for what goes on there: the sum is right. Events from HTTP are the API's,
// those pushed onto the queue the worker's.
const eventsAccepted = counterOf('event.accepted', {
  name: 'webhooks_events_accepted_total',
  help: 'Events that were taken in, by type and by the door that they came in by.',
  labels: ['type', 'source'],
});

// Those of clients are the API's, those of replays the worker's.
const deliveriesRequested = counterOf('delivery.requested', {
  name: 'webhooks_deliveries_requested_total',
  help: 'Deliveries that were sent apart from their schedule, by who asked for it.',
  labels: ['trigger'],
});

// Those whose dead letter an operator drops are the API's, all others the worker's.
const deliveriesEnded = counterOf('delivery.ended', {
  name: 'webhooks_deliveries_ended_total',
  help: 'Deliveries that came to their end, by how.',
  labels: ['status'],
  fromZero: endStatuses,
});

// Its owner's doing is the API's, its receiver's the worker's.
const endpointsDisabled = counterOf('endpoint.disabled', {
  name: 'webhooks_endpoints_disabled_total',
  help: 'Endpoints that were disabled, by reason.',
  labels: ['reason'],
  fromZero: disabledReasons,
});

// Requests are the API's, pushed events the worker's.
const quotaExceeded = counterOf('quota.exceeded', {
  name: 'webhooks_quota_rejections_total',
  help: 'What was refused because its account stores as much as it may, by the door that it came in by.',
  labels: ['door'],
  fromZero: doors,
});

const apiMetrics: readonly SignalMetric[] = [
  secondsOf('request.completed', {
    name: 'webhooks_http_request_duration_seconds',
    help: 'Time to answer an HTTP request, by route and status.',
    labels: ['method', 'route', 'status'],
    buckets: REQUEST_SECONDS,
    durationMsOf: ({ durationMs }) => durationMs,
  }),
  counterOf('connection.refused', {
    name: 'webhooks_http_connections_refused_total',
    help: 'Connections that were closed without taking a request, by reason.',
    labels: ['reason'],
  }),
  eventsAccepted,
  endpointsDisabled,
  deliveriesRequested,
  deliveriesEnded,
  quotaExceeded,
];

const workerMetrics: readonly SignalMetric[] = [
  eventsAccepted,
  quotaExceeded,
  counterOf('event.rejected', {
    name: 'webhooks_events_rejected_total',
    help: 'Jobs on the events queue that were no valid events and went to the dead letters, by error code.',
    labels: ['code'],
  }),
  counterOf('delivery.attempted', {
    name: 'webhooks_delivery_attempts_total',
    help: 'Delivery attempts, by outcome.',
    labels: ['outcome'],
    fromZero: attemptOutcomes,
  }),
  secondsOf('delivery.attempted', {
    name: 'webhooks_delivery_attempt_duration_seconds',
    help: 'Time from the start of an attempt to its outcome.',
    buckets: ATTEMPT_SECONDS,
    durationMsOf: ({ durationMs }) => durationMs,
  }),
  counterOf('job.failed', {
    name: 'webhooks_jobs_failed_total',
    help: 'Jobs that failed for good and are dead letters now, by queue.',
    labels: ['queue'],
    fromZero: deadLetterQueues,
    amountOf: ({ isForGood }) => (isForGood ? 1 : 0),
  }),
  deliveriesEnded,
  counterOf('delivery.held', {
    name: 'webhooks_deliveries_held_total',
    help: 'Deliveries that were held, by reason.',
    labels: ['reason'],
    fromZero: holdReasons,
  }),
  counterOf('delivery.moved', {
    name: 'webhooks_deliveries_moved_total',
    help: 'Attempts that counted among the slow ones, by reason.',
    labels: ['reason'],
  }),
  counterOf('delivery.unsent', {
    name: 'webhooks_deliveries_unsent_total',
    help: 'Times that a delivery could not leave because the proxy for deliveries was out of order.',
  }),
  counterOf('breaker.opened', {
    name: 'webhooks_breakers_opened_total',
    help: 'Times that the circuit breaker of an endpoint opened, or stayed open after a failed probe.',
  }),
  endpointsDisabled,
  deliveriesRequested,
  counterOf('replay.ended', {
    name: 'webhooks_replays_ended_total',
    help: 'Replays that came to their end, by mode and how.',
    labels: ['mode', 'status'],
  }),
  counterOf('attempts.archived', {
    name: 'webhooks_attempts_archived_total',
    help: 'Attempts that were put into the archive.',
    amountOf: ({ count }) => count,
  }),
  counterOf('archive.failed', {
    name: 'webhooks_archive_failures_total',
    help: 'Times that the archive could not be written to; it is tried again.',
  }),
  counterOf('archive.refused', {
    name: 'webhooks_archive_refused_total',
    help: "Attempts that the archive's table did not take and that were put aside.",
  }),
  secondsOf('delivery.ended', {
    name: 'webhooks_delivery_lag_seconds',
    help: 'Time from the acceptance of an event to its delivery.',
    buckets: LAG_SECONDS,
    durationMsOf: ({ status, lagMs }) => (status === 'delivered' ? lagMs : undefined),
  }),
  counterOf('event.dropped', {
    name: 'webhooks_events_dropped_total',
    help: 'Events that were taken off the queue and dropped, because their account is being erased or was.',
  }),
  counterOf('job.too_new', {
    name: 'webhooks_jobs_too_new_total',
    help: 'Times that a job was left to a worker of a later version, whose data this one can not read, by queue.',
    labels: ['queue'],
  }),
  counterOf('worker.stalled', {
    name: 'webhooks_worker_stalls_total',
    help: 'Times that this worker was found to take nothing from a queue although jobs waited there.',
    labels: ['queue'],
  }),
];
