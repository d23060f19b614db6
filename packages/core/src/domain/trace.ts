/** A position in a trace, as in W3C Trace Context. */
export interface TraceContext {
  /** 32 hexadecimal digits in lower case. */
  readonly traceId: string;
  /** 16 hexadecimal digits in lower case. */
  readonly spanId: string;
  /** Whether its spans are exported. */
  readonly isSampled: boolean;
}

/** A unit of work in a trace. The listeners of its signal export it when it has ended. */
export interface Span {
  readonly context: TraceContext;
  readonly parent: TraceContext | undefined;
  /** Spans that it follows from without being a part of them. */
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
  /**
   * Absent: the span begins a trace of its own. Whether that trace is exported is decided as for the first of
   * its links.
   */
  readonly parent?: TraceContext | undefined;
  readonly links?: readonly TraceContext[];
  /** Milliseconds since the Unix epoch. */
  readonly startedAt: number;
}

/** Give a new span its position. Absent where traces are not wanted: then no span is made. */
export type BeginSpan = (span: NewSpan) => Span;

const TRACEPARENT =
  /^(?<version>[0-9a-f]{2})-(?<traceId>[0-9a-f]{32})-(?<spanId>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})(?<rest>-.*)?$/;
const NO_ID = /^0+$/;
const SAMPLED = 1;

/** Read a `traceparent`. Gives `undefined` for an invalid one: the standard treats it like an absent one. */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const { version, traceId, spanId, flags, rest } = TRACEPARENT.exec(text ?? '')?.groups ?? {};
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  // Later versions may have more at the end.
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (NO_ID.test(traceId) || NO_ID.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

/** The `traceparent` of a position in a trace: 55 characters. */
export function formatTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
