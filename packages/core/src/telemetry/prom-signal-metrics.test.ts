import { Registry } from 'prom-client';
import type { Signal } from '../domain/signal';
import { signalSamples } from '../testing/signal-samples';
import {
  apiSignalMetrics,
  registerPromSignalMetrics,
  serverErrorCodes,
  workerSignalMetrics,
} from './prom-signal-metrics';

/** The samples that Prometheus sees after these signals, without the buckets of histograms. */
async function scrape(metrics: typeof apiSignalMetrics, signals: readonly Signal[]): Promise<string[]> {
  const registry = new Registry();
  const listen = registerPromSignalMetrics(registry, metrics);
  for (const signal of signals) listen(signal);
  const lines = (await registry.metrics()).split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('#') && !line.includes('_bucket'));
}

/** Without those that stand at zero, so that an alert sees their first count. */
function counted(samples: readonly string[]): string[] {
  return samples.filter((line) => !line.endsWith(' 0'));
}

/** One that counts for connections that were kept alive, too. */
const { connectMs: _connectMs, ...attemptedAgain } = signalSamples['delivery.attempted'];
const failedRequest = {
  ...signalSamples['request.completed'],
  status: 503,
  code: 'storage_unavailable',
} as const;
const everySignal: readonly Signal[] = [...Object.values(signalSamples), attemptedAgain, failedRequest];

describe.each([
  ['the API', apiSignalMetrics],
  ['a worker', workerSignalMetrics],
])('each of the metrics of %s', (_process, metrics) => {
  it.each(metrics.map((metric) => [metric.name, metric] as const))(
    'counts a signal: %s',
    async (_name, metric) => {
      expect(await scrape([metric], everySignal)).not.toEqual(await scrape([metric], []));
    },
  );
});

describe('the metrics of the API', () => {
  it('times requests by method, route and status', async () => {
    const completed = signalSamples['request.completed'];
    const signals = [completed, completed, { ...completed, status: 404, durationMs: 1 }];
    expect(counted(await scrape(apiSignalMetrics, signals))).toEqual([
      'webhooks_http_request_duration_seconds_sum{method="GET",route="/v1/webhooks/:id",status="200"} 0.024',
      'webhooks_http_request_duration_seconds_count{method="GET",route="/v1/webhooks/:id",status="200"} 2',
      'webhooks_http_request_duration_seconds_sum{method="GET",route="/v1/webhooks/:id",status="404"} 0.001',
      'webhooks_http_request_duration_seconds_count{method="GET",route="/v1/webhooks/:id",status="404"} 1',
    ]);
  });

  it('counts requests that end with a 5xx by the code of the error, each from zero', async () => {
    const completed = signalSamples['request.completed'];
    const samples = await scrape(apiSignalMetrics, [
      { ...completed, status: 503, code: 'history_unavailable' },
      { ...completed, status: 422, code: 'invalid_request' },
    ]);
    expect(samples.filter((sample) => sample.startsWith('webhooks_http_server_errors_total'))).toEqual(
      serverErrorCodes.map(
        (code) =>
          `webhooks_http_server_errors_total{code="${code}"} ${code === 'history_unavailable' ? 1 : 0}`,
      ),
    );
  });

  it('counts the connections that were refused by reason', async () => {
    const refused = signalSamples['connection.refused'];
    const signals = [refused, refused, { ...refused, reason: 'malformed' as const }];
    expect(counted(await scrape(apiSignalMetrics, signals))).toEqual([
      'webhooks_http_connections_refused_total{reason="malformed"} 1',
      'webhooks_http_connections_refused_total{reason="too_slow"} 2',
    ]);
  });

  it('counts accepted events by type and source', async () => {
    expect(counted(await scrape(apiSignalMetrics, [signalSamples['event.accepted']]))).toEqual([
      'webhooks_events_accepted_total{type="order.created",source="http"} 1',
    ]);
  });
});

describe.each([
  ['the API', apiSignalMetrics],
  ['a worker', workerSignalMetrics],
])('the metrics of %s', (_process, metrics) => {
  it('counts refusals for the quota by source, each from zero', async () => {
    const samples = await scrape(metrics, [signalSamples['quota.exceeded']]);
    expect(samples).toContain('webhooks_quota_rejections_total{door="http"} 0');
    expect(samples).toContain('webhooks_quota_rejections_total{door="queue"} 1');
  });

  it('counts endpoints that are disabled by reason, each from zero', async () => {
    const samples = await scrape(metrics, [signalSamples['endpoint.disabled']]);
    expect(samples).toContain('webhooks_endpoints_disabled_total{reason="gone"} 1');
    expect(samples).toContain('webhooks_endpoints_disabled_total{reason="failing"} 0');
  });

  it('times reads of the history, those that failed apart', async () => {
    const read = signalSamples['history.read'];
    const samples = await scrape(metrics, [
      read,
      read,
      { ...read, kind: 'search', result: 'failed', durationMs: 3_000 },
    ]);
    expect(samples).toContain(
      'webhooks_history_read_duration_seconds_sum{kind="list",result="succeeded"} 0.016',
    );
    expect(samples).toContain(
      'webhooks_history_read_duration_seconds_count{kind="list",result="succeeded"} 2',
    );
    expect(samples).toContain('webhooks_history_read_duration_seconds_sum{kind="search",result="failed"} 3');
  });

  it('counts how deliveries end, each from zero', async () => {
    const samples = await scrape(metrics, [{ ...signalSamples['delivery.ended'], status: 'cancelled' }]);
    expect(samples).toContain('webhooks_deliveries_ended_total{status="cancelled"} 1');
    expect(samples).toContain('webhooks_deliveries_ended_total{status="delivered"} 0');
  });
});

describe('the metrics of a worker', () => {
  it('counts and times attempts, by outcome', async () => {
    const attempted = signalSamples['delivery.attempted'];
    const signals: Signal[] = [attempted, { ...attempted, outcome: 'tls_error', durationMs: 70 }];
    expect(counted(await scrape(workerSignalMetrics, signals))).toEqual([
      'webhooks_delivery_attempts_total{outcome="delivered"} 1',
      'webhooks_delivery_attempts_total{outcome="tls_error"} 1',
      'webhooks_delivery_attempt_duration_seconds_sum 0.1',
      'webhooks_delivery_attempt_duration_seconds_count 2',
      'webhooks_delivery_connections_opened_total 2',
      'webhooks_delivery_first_attempt_lag_seconds_sum 0.08',
      'webhooks_delivery_first_attempt_lag_seconds_count 2',
    ]);
  });

  it('tells new connections from kept-alive ones, and both from none', async () => {
    const { connectMs: _, ...reused } = signalSamples['delivery.attempted'];
    const { firstByteMs: __, ...refused } = reused;
    const samples = await scrape(workerSignalMetrics, [
      signalSamples['delivery.attempted'],
      reused,
      reused,
      refused,
    ]);
    expect(samples).toContain('webhooks_delivery_connections_opened_total 1');
    expect(samples).toContain('webhooks_delivery_connections_reused_total 2');
  });

  it('leaves the lag of attempts that are not the first one, or were held, out of account', async () => {
    const { firstLagMs: _, ...later } = signalSamples['delivery.attempted'];
    expect(await scrape(workerSignalMetrics, [later])).toContain(
      'webhooks_delivery_first_attempt_lag_seconds_count 0',
    );
  });

  it('counts how deliveries end, and the lag of delivered ones', async () => {
    const ended = signalSamples['delivery.ended'];
    const signals: Signal[] = [ended, { ...ended, status: 'exhausted', lagMs: 9_000 }];
    const samples = await scrape(workerSignalMetrics, signals);
    expect(samples).toEqual(
      expect.arrayContaining([
        'webhooks_deliveries_ended_total{status="delivered"} 1',
        'webhooks_deliveries_ended_total{status="exhausted"} 1',
        'webhooks_delivery_lag_seconds_sum 0.07',
        'webhooks_delivery_lag_seconds_count 1',
      ]),
    );
  });

  it('counts what moves to the history, what that refused, and how often it could not be written to', async () => {
    const moved = signalSamples['history.moved'];
    const signals = [moved, moved, signalSamples['history.failed'], signalSamples['history.row_refused']];
    expect(await scrape(workerSignalMetrics, signals)).toEqual(
      expect.arrayContaining([
        'webhooks_history_moved_total 40',
        'webhooks_history_failures_total 1',
        'webhooks_history_refused_total 1',
      ]),
    );
  });

  it('counts events from the queue, accepted and rejected', async () => {
    const signals: Signal[] = [
      { ...signalSamples['event.accepted'], source: 'queue' },
      signalSamples['event.rejected'],
    ];
    expect(counted(await scrape(workerSignalMetrics, signals))).toEqual([
      'webhooks_events_accepted_total{type="order.created",source="queue"} 1',
      'webhooks_events_rejected_total{code="invalid_request"} 1',
    ]);
  });

  it('counts events of accounts that are erased', async () => {
    const dropped = signalSamples['event.dropped'];
    const samples = await scrape(workerSignalMetrics, [dropped, dropped]);
    expect(samples).toContain('webhooks_events_dropped_total 2');
  });

  it('counts deliveries that are held, by reason', async () => {
    const held = signalSamples['delivery.held'];
    const samples = await scrape(workerSignalMetrics, [held, held, { ...held, reason: 'busy' }]);
    expect(samples).toContain('webhooks_deliveries_held_total{reason="disabled"} 2');
    expect(samples).toContain('webhooks_deliveries_held_total{reason="busy"} 1');
  });

  it('counts deliveries that go over to the slow lane, by reason', async () => {
    const moved = signalSamples['delivery.moved'];
    const samples = await scrape(workerSignalMetrics, [moved, moved, { ...moved, reason: 'stranger' }]);
    expect(samples).toContain('webhooks_deliveries_moved_total{reason="slow"} 2');
    expect(samples).toContain('webhooks_deliveries_moved_total{reason="stranger"} 1');
  });

  it('counts how often a delivery could not leave', async () => {
    const samples = await scrape(workerSignalMetrics, [signalSamples['delivery.unsent']]);
    expect(samples).toContain('webhooks_deliveries_unsent_total 1');
  });

  it('counts how often a breaker opens', async () => {
    const samples = await scrape(workerSignalMetrics, [signalSamples['breaker.opened']]);
    expect(samples).toContain('webhooks_breakers_opened_total 1');
  });

  it('has every outcome, ending and reason to wait at zero before the first of each', async () => {
    const samples = await scrape(workerSignalMetrics, []);
    expect(samples).toContain('webhooks_delivery_attempts_total{outcome="http_5xx"} 0');
    expect(samples).toContain('webhooks_deliveries_ended_total{status="exhausted"} 0');
    expect(samples).toContain('webhooks_deliveries_held_total{reason="rate_limited"} 0');
    expect(samples).toContain('webhooks_breakers_opened_total 0');
  });

  it('counts the jobs that failed for good, and none that is run again', async () => {
    const failed = signalSamples['job.failed'];
    const samples = await scrape(workerSignalMetrics, [failed, { ...failed, isForGood: false }]);
    expect(samples).toContain('webhooks_jobs_failed_total{queue="events"} 1');
    expect(samples).toContain('webhooks_jobs_failed_total{queue="deliveries"} 0');
  });

  it('counts token requests by what came of them', async () => {
    const refused = signalSamples['token.requested'];
    const signals: Signal[] = [refused, refused, { ...refused, result: 'granted' }];
    const lines = counted(await scrape(workerSignalMetrics, signals));
    expect(lines.filter((line) => line.includes('token_requests'))).toEqual([
      'webhooks_token_requests_total{result="refused"} 2',
      'webhooks_token_requests_total{result="granted"} 1',
    ]);
  });

  it('counts nothing for what only the log is interested in', async () => {
    const signals = [signalSamples['process.started'], signalSamples['redis.error']];
    expect(counted(await scrape(workerSignalMetrics, signals))).toEqual([]);
  });
});

it.each([
  ['API', apiSignalMetrics],
  ['worker', workerSignalMetrics],
])(
  'the metrics of the %s put no id into a label, or each would be a time series',
  async (_process, metrics) => {
    const text = (await scrape(metrics, Object.values(signalSamples))).join('\n');
    const { accountId, eventId, endpointId } = {
      ...signalSamples['event.accepted'],
      ...signalSamples['delivery.ended'],
    };
    for (const id of [accountId, eventId, endpointId, 'req_1']) expect(text).not.toContain(id);
    expect(text).toContain('webhooks_');
  },
);
