import { createLogger, format, type LogEntry, type Logger, transports } from 'winston';
import type { Signal, SignalListener } from '../domain/signal';

export interface LogOptions {
  readonly level: 'error' | 'warn' | 'info' | 'debug';
  readonly format: 'json' | 'pretty';
  /** Which process writes, such as `api`. */
  readonly service: string;
}

/** Writes each signal as one line to standard output. */
export function createWinstonSignalLog(options: LogOptions): SignalListener {
  const logger = createWinstonLogger(options);
  return (signal) => {
    const level = levelOf(signal);
    if (logger.isLevelEnabled(level)) logger.log(entryOf(signal, level));
  };
}

function createWinstonLogger({ level, format: form, service }: LogOptions): Logger {
  const line = format.printf(form === 'json' ? toJsonLine : toPrettyLine);
  return createLogger({
    level,
    defaultMeta: { service },
    format: format.combine(format.timestamp(), line),
    transports: [new transports.Console()],
  });
}

function levelOf(signal: Signal): LogOptions['level'] {
  switch (signal.name) {
    case 'request.failed':
    case 'job.failed':
    case 'worker.stalled':
    case 'process.fault':
      return 'error';
    case 'archive.failed':
    case 'archive.refused':
    case 'event.rejected':
    case 'event.dropped':
    case 'dead_letter.displaced':
    case 'delivery.blocked':
    case 'delivery.unsent':
    case 'redis.error':
    case 'redis.revived':
    case 'library.warned':
    case 'job.interrupted':
    case 'job.too_new':
    case 'task.failed':
    case 'delivery.follow_up_failed':
    case 'breaker.opened':
    case 'endpoint.disabled':
    case 'redis.unsafe':
    case 'secrets.unprotected':
    case 'public_url.unset':
    case 'shards.disagree':
    case 'shards.unserved':
      return 'warn';
    // What went as it should is counted by a metric; a line for each would cost more than much of the work.
    case 'delivery.attempted':
      return signal.outcome === 'delivered' ? 'debug' : 'warn';
    case 'request.completed':
      return signal.status < 400 ? 'debug' : 'info';
    case 'delivery.ended':
      return signal.status === 'delivered' ? 'debug' : 'warn';
    // At a higher level strangers could fill the log; a metric counts them.
    case 'connection.refused':
    case 'quota.exceeded':
    case 'attempts.archived':
    case 'event.accepted':
    case 'event.queued':
    case 'event.fanned_out':
    case 'delivery.held':
    case 'delivery.moved':
    case 'delivery.requested':
    case 'replay.progressed':
      return 'debug';
    case 'breaker.closed':
    case 'endpoint.created':
    case 'endpoint.updated':
    case 'endpoint.deleted':
    case 'endpoint.enabled':
    case 'change_stream.ended':
    case 'listener.connected':
    case 'listener.lost':
    case 'redis.back':
    case 'event.payload_erased':
    case 'account.erasing':
    case 'account.erased':
    case 'operational_event.raised':
    case 'replay.ended':
    case 'shards.changed':
    case 'dead_letter.redriven':
    case 'dead_letter.dropped':
    case 'process.started':
    case 'process.stopping':
    case 'process.stopped':
      return 'info';
  }
}

// A span has a form of its own; those who get an event may be thousands.
const UNWRITTEN: ReadonlySet<string> = new Set(['span', 'receivers']);

// What the code calls an endpoint is a webhook outside.
const ENDPOINT = /^endpoint(?=\.|Id$)/;

/** camelCase inside, snake_case in the log, and the API's words; errors as text, with their causes. */
function entryOf(signal: Signal, level: LogOptions['level']): LogEntry {
  const { name, ...fields } = signal;
  const entry: LogEntry = { level, message: name.replace(ENDPOINT, 'webhook') };
  for (const [member, value] of Object.entries(fields)) {
    if (!UNWRITTEN.has(member)) entry[toSnakeCase(member)] = member === 'error' ? describe(value) : value;
  }
  const span = 'span' in signal ? signal.span : undefined;
  if (span) {
    entry.trace_id = span.context.traceId;
    entry.span_id = span.context.spanId;
  }
  return entry;
}

const snakeCased = new Map<string, string>();

function toSnakeCase(name: string): string {
  const known = snakeCased.get(name);
  if (known !== undefined) return known;
  const made = name.replace(ENDPOINT, 'webhook').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  snakeCased.set(name, made);
  return made;
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : ` ← ${describe(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}

// winston's own JSON format also sorts the members and looks for cycles, which no line of ours needs.
function toJsonLine(info: Record<string, unknown>): string {
  return JSON.stringify(info);
}

function toPrettyLine({
  timestamp,
  level,
  message,
  service: _service,
  ...fields
}: Record<string, unknown>): string {
  const details = Object.entries(fields).map(([name, value]) => `${name}=${String(value)}`);
  return `${String(timestamp).slice(11, 23)} ${String(level).padEnd(5)} ${[message, ...details].join(' ')}`;
}
