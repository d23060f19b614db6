import { DiagLogLevel, diag } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace';
import { ATTR_SERVICE_NAME, ATTR_SERVICE_VERSION } from '@opentelemetry/semantic-conventions';
import type { TracingConfig } from '../kernel/tracing-settings';
import { VERSION } from '../kernel/version';
import { settledWithin } from '../kernel/within';
import type { SignalListener } from '../model/signal';
import { createOtelBeginSpan } from './otel-begin-span';
import { toReadableSpan } from './otel-readable-span';
import { createOtelSampler } from './otel-sampler';
import { describeSignal } from './otel-signal-spans';
import type { TracedService, Tracing, TracingOptions } from './start-tracing';

// A few megabytes at most; what does not fit while the collector is away is lost.
const QUEUED_SPANS = 2_048;
const BATCH_SPANS = 512;
const BATCH_DELAY_MS = 1_000;
// Within what a process has to stop once its parts have.
const STOP_PATIENCE_MS = 2_000;

type OtelConfig = TracingConfig & { readonly endpoint: string };

/** Sends spans to a collector, in batches. When it does not take them, they are lost, and nothing else is disturbed. */
export function openOtelTracing(config: OtelConfig, { service, onWarning }: TracingOptions): Tracing {
  warnBy(onWarning);
  const resource = resourceOf(config, service);
  const processor = new BatchSpanProcessor({
    exporter: new OTLPTraceExporter({
      url: `${config.endpoint.replace(/\/$/, '')}/v1/traces`,
      headers: config.OTEL_EXPORTER_OTLP_HEADERS ?? {},
    }),
    maxQueueSize: QUEUED_SPANS,
    maxExportBatchSize: BATCH_SPANS,
    scheduledDelayMillis: BATCH_DELAY_MS,
  });
  const sampler = createOtelSampler(config.OTEL_TRACES_SAMPLER, config.OTEL_TRACES_SAMPLER_ARG);
  return {
    beginSpan: createOtelBeginSpan(sampler),
    listen(signal) {
      const described = describeSignal(signal, service);
      if (described?.span.context.isSampled) processor.onEnd(toReadableSpan(described, resource));
    },
    async stop() {
      await settledWithin(STOP_PATIENCE_MS, processor.shutdown());
    },
  };
}

function resourceOf(config: OtelConfig, service: TracedService): Resource {
  return defaultResource().merge(
    resourceFromAttributes({
      [ATTR_SERVICE_NAME]: `hookferry-${service}`,
      [ATTR_SERVICE_VERSION]: VERSION,
      ...config.OTEL_RESOURCE_ATTRIBUTES,
      ...(config.OTEL_SERVICE_NAME === undefined ? {} : { [ATTR_SERVICE_NAME]: config.OTEL_SERVICE_NAME }),
    }),
  );
}

// Its exporter and its queue say nowhere else that something went wrong.
function warnBy(onWarning: SignalListener): void {
  const warn = (message: string) => onWarning({ name: 'library.warned', text: `OpenTelemetry: ${message}` });
  const silent = () => {};
  const logger = { error: warn, warn, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}
