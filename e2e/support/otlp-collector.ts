import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from './until';

type Value = { readonly stringValue?: string; readonly intValue?: number };
type OtlpAttributes = readonly { readonly key: string; readonly value: Value }[];

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: OtlpAttributes;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code: number };
}

/** The body of `POST /v1/traces`, as the OTLP specification has it in JSON. */
interface OtlpTraces {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: OtlpAttributes };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

const KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'] as const;

/** A span as it came, with what is asked of it close at hand. */
export interface CollectedSpan extends Omit<OtlpSpan, 'kind' | 'attributes'> {
  readonly kind: (typeof KINDS)[number];
  readonly service: string;
  readonly attributes: Readonly<Record<string, string | number | undefined>>;
}

/** A collector for OTLP over HTTP, in JSON. */
export class OtlpCollector {
  readonly spans: CollectedSpan[] = [];
  readonly headers: IncomingHttpHeaders[] = [];

  private constructor(private readonly server: Server) {}

  /** @param isDead it takes connections, and never responds. */
  static async start({ isDead = false } = {}): Promise<OtlpCollector> {
    const server = createServer();
    const collector = new OtlpCollector(server);
    server.on('request', (request: IncomingMessage, response) => {
      collector.headers.push(request.headers);
      if (isDead) return;
      void collector.#take(request).then((status) => response.writeHead(status).end('{}'));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Resolves with the spans that are as wished, once there are so many. */
  async waitFor(count: number, isWished: (span: CollectedSpan) => boolean): Promise<CollectedSpan[]> {
    const look = async () => {
      const wished = this.spans.filter(isWished);
      return wished.length >= count ? wished : undefined;
    };
    return await until(
      look,
      () => `not ${count} by ${String(isWished)} among ${this.spans.map(({ name }) => name).join()}`,
    );
  }

  async stop(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  async #take(request: IncomingMessage): Promise<number> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.url !== '/v1/traces' || request.headers['content-type'] !== 'application/json') return 404;
    const traces = JSON.parse(Buffer.concat(chunks).toString()) as OtlpTraces;
    for (const { resource, scopeSpans } of traces.resourceSpans) {
      const service = String(readAttributes(resource.attributes)['service.name']);
      const spans = scopeSpans.flatMap((scope) => scope.spans);
      this.spans.push(...spans.map((span) => readSpan(span, service)));
    }
    return 200;
  }
}

function readSpan({ kind, attributes, ...span }: OtlpSpan, service: string): CollectedSpan {
  return { ...span, service, kind: KINDS[kind] ?? 'UNSPECIFIED', attributes: readAttributes(attributes) };
}

function readAttributes(attributes: OtlpAttributes): CollectedSpan['attributes'] {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
}
