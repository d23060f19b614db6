import type { SignalListener } from '../domain/signal';
import type { BeginSpan } from '../domain/trace';
import type { TracingConfig } from '../platform/settings';

/** Which process is traced. */
export type TracedService = 'api' | 'worker';

export interface Tracing {
  readonly beginSpan: BeginSpan;
  /** Makes spans of the signals that tell of them. */
  readonly listen: SignalListener;
  /** Sends what is left, as far as that goes within two seconds. */
  stop(): Promise<void>;
}

export interface TracingOptions {
  readonly service: TracedService;
  /** Told when spans were lost, and why. */
  readonly onWarning: SignalListener;
}

/** Loads OpenTelemetry, if traces are wanted: whoever does not want them has none of it in memory. */
export async function startTracing(
  config: TracingConfig,
  options: TracingOptions,
): Promise<Tracing | undefined> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SDK_DISABLED } = config;
  if (endpoint === undefined || OTEL_SDK_DISABLED) return undefined;
  // By the name of the package: from the build and under jest, which has no endings, it leads to the same file.
  const { openOtelTracing } = await import('@hookferry/core/telemetry/otel-tracing');
  return openOtelTracing({ ...config, endpoint }, options);
}
