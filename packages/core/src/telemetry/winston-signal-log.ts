import { createLogger, format, type LogEntry, type Logger, transports } from 'winston';
import { levelOf, type Signal, type SignalListener } from '../domain/signal';
import type { SignalLevel } from '../domain/signals/define';

export interface LogOptions {
  readonly level: SignalLevel;
  readonly format: 'json' | 'pretty';
  /** The writing process, such as `api`. */
  readonly service: string;
}

const LEVELS: readonly SignalLevel[] = ['error', 'warn', 'info', 'debug'];

/** Writes each signal as one line to standard output. */
export class SignalLog {
  readonly #logger: Logger;
  /** Asked once: winston looks through its transports each time, and there are several signals to an event. */
  readonly #enabled: ReadonlySet<SignalLevel>;

  constructor({ level, format: form, service }: LogOptions) {
    const line = format.printf(form === 'json' ? toJsonLine : toPrettyLine);
    this.#logger = createLogger({
      level,
      defaultMeta: { service },
      format: format.combine(format.timestamp(), line),
      transports: [new transports.Console()],
    });
    this.#enabled = new Set(LEVELS.filter((each) => this.#logger.isLevelEnabled(each)));
  }

  readonly listen: SignalListener = (signal) => {
    const level = levelOf(signal);
    if (this.#enabled.has(level)) this.#logger.log(entryOf(signal, level));
  };
}

// A span has a form of its own; an event may have thousands of receivers.
const UNWRITTEN: ReadonlySet<string> = new Set(['span', 'receivers']);

// The code's endpoint is called a webhook outside.
const ENDPOINT = /^endpoint(?=\.|Id$)/;

/** camelCase inside, snake_case in the log, and the API's words; errors as text, with their causes. */
function entryOf(signal: Signal, level: SignalLevel): LogEntry {
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

// winston's own JSON format also sorts the members and checks for cycles, which no line here needs.
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
