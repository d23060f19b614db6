import type { MetricDefinition } from './prom-gauges';
import { processGauges } from './prom-process-gauges';
import { sharedGauges } from './prom-shared-gauges';
import { apiSignalMetrics, workerSignalMetrics } from './prom-signal-metrics';
import { workerGauges } from './prom-worker-gauges';

/** Every metric of ours that the API serves. */
export const apiMetrics: readonly MetricDefinition[] = [
  ...apiSignalMetrics.map(({ definition }) => definition),
  ...processGauges,
];

/** Every metric of ours that a worker serves. */
export const workerMetrics: readonly MetricDefinition[] = [
  ...workerSignalMetrics.map(({ definition }) => definition),
  ...processGauges,
  ...workerGauges,
  ...sharedGauges,
];
