/** A place in a trace, as W3C Trace Context has it. */
export interface TraceContext {
  /** 32 hexadecimal digits in lower case. */
  readonly traceId: string;
  /** 16 of them. */
  readonly spanId: string;
  /** Whether what belongs to it is exported. */
  readonly isSampled: boolean;
}

/** A piece of work in a trace. It is exported once it is over, by whoever listens to the signal that tells of it. */
export interface Span {
  readonly context: TraceContext;
  readonly parent: TraceContext | undefined;
  /** What it follows from without being a part of it. */
  readonly links: readonly TraceContext[];
  /** Milliseconds since the Unix epoch. */
  readonly startedAt: number;
}

/** A request to the API. */
export interface RequestSpan extends Span {
  readonly scheme: string;
  /** Without its query. */
  readonly path: string;
}

/** A request to a receiver. */
export interface AttemptSpan extends Span {
  /** Without user, password, query and fragment, any of which can hold a secret. */
  readonly url: string;
}

export interface NewSpan {
  /** Absent: it begins a trace of its own. Whether that is exported is decided as for the first of its links. */
  readonly parent?: TraceContext | undefined;
  readonly links?: readonly TraceContext[];
  /** Milliseconds since the Unix epoch. */
  readonly startedAt: number;
}

/** Gives a new span its place. Where traces are not wanted there is none of these, and nothing is made for them. */
export type BeginSpan = (span: NewSpan) => Span;

const TRACEPARENT =
  /^(?<version>[0-9a-f]{2})-(?<traceId>[0-9a-f]{32})-(?<spanId>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})(?<rest>-.*)?$/;
const NO_ID = /^0+$/;
const SAMPLED = 1;

/** Reads a `traceparent`. `undefined` for what is none: by its standard that is as good as none at all. */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const { version, traceId, spanId, flags, rest } = TRACEPARENT.exec(text ?? '')?.groups ?? {};
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  // Later versions may have more at the end.
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (NO_ID.test(traceId) || NO_ID.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

/** The `traceparent` of a place in a trace: 55 characters. */
export function formatTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
