import { Counter, Histogram, type Registry } from 'prom-client';
import { deadLetterQueues } from '../dead-letters/dead-letter';
import { attemptOutcomes } from '../deliveries/attempt';
import { endStatuses } from '../deliveries/delivery-log';
import { disabledReasons } from '../endpoints/endpoint';
import { waitReasons } from '../gates/admit';
import type { Signal } from './signal';
import type { SignalListener } from './signals';

const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const ATTEMPT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30];
const LAG_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3_600, 21_600, 86_400];

/** What the API counts. */
export function createPromApiMetrics(registry: Registry): SignalListener {
  const registers = [registry];
  const requestSeconds = new Histogram({
    name: 'webhooks_http_request_duration_seconds',
    help: 'Time to answer an HTTP request, by route and status.',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: REQUEST_SECONDS,
    registers,
  });
  const refused = new Counter({
    name: 'webhooks_http_connections_refused_total',
    help: 'Connections that were closed without taking a request, by reason.',
    labelNames: ['reason'] as const,
    registers,
  });
  const accepted = createEventsAccepted(registry);
  const disabled = createEndpointsDisabled(registry);
  const requested = createDeliveriesRequested(registry);
  const ended = createDeliveriesEnded(registry);
  return (signal: Signal) => {
    if (signal.name === 'request.completed') {
      const { method, route, status, durationMs } = signal;
      requestSeconds.observe({ method, route, status }, durationMs / 1_000);
    } else if (signal.name === 'connection.refused') {
      refused.inc({ reason: signal.reason });
    } else if (signal.name === 'event.accepted') {
      accepted.inc({ type: signal.type, source: signal.source });
    } else if (signal.name === 'endpoint.disabled') {
      disabled.inc({ reason: signal.reason });
    } else if (signal.name === 'delivery.requested') {
      requested.inc({ trigger: signal.trigger });
    } else if (signal.name === 'delivery.ended') {
      ended.inc({ status: signal.status });
    }
  };
}

/** What the worker counts. */
export function createPromWorkerMetrics(registry: Registry): SignalListener {
  const registers = [registry];
  const accepted = createEventsAccepted(registry);
  const rejected = new Counter({
    name: 'webhooks_events_rejected_total',
    help: 'Jobs on the events queue that were no valid events and went to the dead letters, by error code.',
    labelNames: ['code'] as const,
    registers,
  });
  const attempts = new Counter({
    name: 'webhooks_delivery_attempts_total',
    help: 'Delivery attempts, by outcome.',
    labelNames: ['outcome'] as const,
    registers,
  });
  const attemptSeconds = new Histogram({
    name: 'webhooks_delivery_attempt_duration_seconds',
    help: 'Time from the start of an attempt to its outcome.',
    buckets: ATTEMPT_SECONDS,
    registers,
  });
  const failed = new Counter({
    name: 'webhooks_jobs_failed_total',
    help: 'Jobs that failed for good and are dead letters now, by queue.',
    labelNames: ['queue'] as const,
    registers,
  });
  for (const queue of deadLetterQueues) failed.inc({ queue }, 0);
  const ended = createDeliveriesEnded(registry);
  // From the start, or `increase()` would miss the first of each: the exhausted delivery that an alert is about.
  for (const outcome of attemptOutcomes) attempts.inc({ outcome }, 0);
  const held = new Counter({
    name: 'webhooks_deliveries_held_total',
    help: "Deliveries that had to wait at their endpoint's gate, by reason.",
    labelNames: ['reason'] as const,
    registers,
  });
  for (const reason of waitReasons) held.inc({ reason }, 0);
  const moved = new Counter({
    name: 'webhooks_deliveries_moved_total',
    help: 'Deliveries that went over to the slow lane, by reason.',
    labelNames: ['reason'] as const,
    registers,
  });
  const unsent = new Counter({
    name: 'webhooks_deliveries_unsent_total',
    help: 'Times that a delivery could not leave because the proxy for deliveries was out of order.',
    registers,
  });
  const breakersOpened = new Counter({
    name: 'webhooks_breakers_opened_total',
    help: 'Times that the circuit breaker of an endpoint opened, or stayed open after a failed probe.',
    registers,
  });
  const disabled = createEndpointsDisabled(registry);
  const requested = createDeliveriesRequested(registry);
  const replays = new Counter({
    name: 'webhooks_replays_ended_total',
    help: 'Replays that came to their end, by mode and how.',
    labelNames: ['mode', 'status'] as const,
    registers,
  });
  const archived = new Counter({
    name: 'webhooks_attempts_archived_total',
    help: 'Attempts that were put into the archive.',
    registers,
  });
  const archiveFailures = new Counter({
    name: 'webhooks_archive_failures_total',
    help: 'Times that the archive could not be written to; it is tried again.',
    registers,
  });
  const archiveRefused = new Counter({
    name: 'webhooks_archive_refused_total',
    help: "Attempts that the archive's table did not take and that were put aside.",
    registers,
  });
  const lagSeconds = new Histogram({
    name: 'webhooks_delivery_lag_seconds',
    help: 'Time from the acceptance of an event to its delivery.',
    buckets: LAG_SECONDS,
    registers,
  });
  const dropped = new Counter({
    name: 'webhooks_events_dropped_total',
    help: 'Events that were taken off the queue and dropped, because their account is being erased or was.',
    registers,
  });
  return (signal: Signal) => {
    if (signal.name === 'delivery.attempted') {
      attempts.inc({ outcome: signal.outcome });
      attemptSeconds.observe(signal.durationMs / 1_000);
    } else if (signal.name === 'delivery.ended') {
      ended.inc({ status: signal.status });
      if (signal.status === 'delivered') lagSeconds.observe(signal.lagMs / 1_000);
    } else if (signal.name === 'event.accepted') {
      accepted.inc({ type: signal.type, source: signal.source });
    } else if (signal.name === 'delivery.held') {
      held.inc({ reason: signal.reason });
    } else if (signal.name === 'delivery.moved') {
      moved.inc({ reason: signal.reason });
    } else if (signal.name === 'delivery.unsent') {
      unsent.inc();
    } else if (signal.name === 'breaker.opened') {
      breakersOpened.inc();
    } else if (signal.name === 'endpoint.disabled') {
      disabled.inc({ reason: signal.reason });
    } else if (signal.name === 'delivery.requested') {
      requested.inc({ trigger: signal.trigger });
    } else if (signal.name === 'replay.ended') {
      replays.inc({ mode: signal.mode, status: signal.status });
    } else if (signal.name === 'attempts.archived') {
      archived.inc(signal.count);
    } else if (signal.name === 'archive.failed') {
      archiveFailures.inc();
    } else if (signal.name === 'archive.refused') {
      archiveRefused.inc();
    } else if (signal.name === 'event.rejected') {
      rejected.inc({ code: signal.code });
    } else if (signal.name === 'event.dropped') {
      dropped.inc();
    } else if (signal.name === 'job.failed' && signal.isForGood) {
      failed.inc({ queue: signal.queue });
    }
  };
}

// Events from HTTP are counted by the API, those pushed onto the queue by the worker: the sum is right.
function createEventsAccepted(registry: Registry): Counter<'type' | 'source'> {
  return new Counter({
    name: 'webhooks_events_accepted_total',
    help: 'Events that were taken in, by type and by the door that they came in by.',
    labelNames: ['type', 'source'] as const,
    registers: [registry],
  });
}

// Those of clients are counted by the API, those of replays by the worker: the sum is right.
function createDeliveriesRequested(registry: Registry): Counter<'trigger'> {
  return new Counter({
    name: 'webhooks_deliveries_requested_total',
    help: 'Deliveries that were sent apart from their schedule, by who asked for it.',
    labelNames: ['trigger'] as const,
    registers: [registry],
  });
}

// Those whose dead letter an operator drops are counted by the API, all others by the worker: the sum is right.
function createDeliveriesEnded(registry: Registry): Counter<'status'> {
  const counter = new Counter({
    name: 'webhooks_deliveries_ended_total',
    help: 'Deliveries that came to their end, by how.',
    labelNames: ['status'] as const,
    registers: [registry],
  });
  for (const status of endStatuses) counter.inc({ status }, 0);
  return counter;
}

// Its owner's doing is counted by the API, its receiver's by the worker: the sum is right.
function createEndpointsDisabled(registry: Registry): Counter<'reason'> {
  const counter = new Counter({
    name: 'webhooks_endpoints_disabled_total',
    help: 'Endpoints that were disabled, by reason.',
    labelNames: ['reason'] as const,
    registers: [registry],
  });
  for (const reason of disabledReasons) counter.inc({ reason }, 0);
  return counter;
}
