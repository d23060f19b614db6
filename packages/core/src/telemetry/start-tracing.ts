import type { TracingConfig } from '../platform/settings';
import type { Tracing, TracingOptions } from './otel-tracing';

/** Load OpenTelemetry, if traces are wanted: a process without them has none of it in memory. */
export async function startTracing(
  config: TracingConfig,
  options: TracingOptions,
): Promise<Tracing | undefined> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SDK_DISABLED } = config;
  if (endpoint === undefined || OTEL_SDK_DISABLED) return undefined;
  // By the name of the package: from the build and under jest, which has no file endings, it leads to the
  // same file.
  const { openOtelTracing } = await import('@hookferry/core/telemetry/otel-tracing');
  return openOtelTracing({ ...config, endpoint }, options);
}
