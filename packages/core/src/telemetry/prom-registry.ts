import { collectDefaultMetrics, Registry } from 'prom-client';
import { EVENT_LOOP_LOOK_MS } from './event-loop-lag';

/** What a process serves to Prometheus: to begin with, what prom-client knows of Node.js and of the process. */
export function createPromRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_LOOK_MS });
  return registry;
}
