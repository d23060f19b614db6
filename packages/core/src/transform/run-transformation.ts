import { hash } from 'node:crypto';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { Endpoint } from '../domain/endpoint';
import type { AcceptedEvent } from '../domain/event';
import { customHeadersSchema, MAX_HEADERS } from '../endpoints/endpoint-options';
import { validationErrorsOf } from '../platform/app-error';
import { formatTime } from '../platform/clock';
import type { CodeFault, CodeRunner, RunFacts, RunResult } from './code-runner';

/** The input of the code. */
export interface TransformSource {
  readonly event: Pick<AcceptedEvent, 'id' | 'accountId' | 'acceptedAt' | 'body'>;
  /** Absent: the code belongs to none yet. */
  readonly endpoint?: Pick<Endpoint, 'id' | 'uid' | 'metadata'> | undefined;
  /** 1, 2, … */
  readonly attempt: number;
}

/** The result of the run. */
export type TransformResult = TransformEnd & RunFacts;

export type TransformEnd =
  | {
      readonly kind: 'made';
      readonly body: string;
      /** Names are in lower case. */
      readonly headers: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'failed'; readonly fault: CodeFault };

/**
 * Run the code of a transformation on an event. The same code makes the same of the same event, wherever and whenever
 * it runs: its clock stands at the event's acceptance, and its random numbers follow from the two ids.
 *
 * @throws AppError `rate_limited` when too many runs wait.
 */
export async function runTransformation(
  { transformPool }: { readonly transformPool: CodeRunner },
  code: string,
  { event, endpoint, attempt }: TransformSource,
): Promise<TransformResult> {
  const rest = {
    id: event.id,
    accepted_at: formatTime(event.acceptedAt),
    webhook: { id: endpoint?.id ?? null, uid: endpoint?.uid ?? null, metadata: endpoint?.metadata ?? {} },
    attempt,
  };
  const input = {
    body: event.body,
    rest: JSON.stringify(rest),
    now: event.acceptedAt,
    seed: seedOf(`${event.id}.${endpoint?.id ?? ''}`),
  };
  const result = await transformPool.run({ accountId: event.accountId, code, input });
  return { ...endOf(result), logs: result.logs, tookMs: result.tookMs };
}

function seedOf(text: string): number {
  return hash('sha256', text, 'buffer').readInt32LE();
}

function endOf(result: RunResult): TransformEnd {
  switch (result.kind) {
    case 'returned':
      return withHeaders(result.text, result.headers);
    case 'cancelled':
      return { kind: 'cancelled' };
    case 'failed': {
      const { message, line, column } = result;
      return { kind: 'failed', fault: { message, ...(line && { line }), ...(column && { column }) } };
    }
    case 'loaded':
      throw new TypeError('The code was loaded and not run: give it an input.');
  }
}

const CONTENT_TYPE = 'content-type';
// RFC 9110: a media type with parameters.
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:[\t ]*;[\t\x20-\x7e]*)?$/;
const MAX_MEDIA_TYPE = 200;
// A refusal may repeat the name of a header.
const MAX_REFUSAL = 300;

/** Code may set the headers that a webhook may set, and the content type of its body. */
function withHeaders(body: string, given: Readonly<Record<string, string>>): TransformEnd {
  const names = Object.keys(given);
  const typeNames = names.filter((name) => name.toLowerCase() === CONTENT_TYPE);
  if (names.includes('')) return refused('A header has no name.');
  if (typeNames.length > 1) return refused('The header content-type is there more than once.');
  const [typeName] = typeNames;
  const type = typeName === undefined ? undefined : given[typeName];
  const others = Object.fromEntries(Object.entries(given).filter(([name]) => name !== typeName));
  if (type !== undefined && (type.length > MAX_MEDIA_TYPE || !MEDIA_TYPE.test(type))) {
    return refused('The header content-type is no media type.');
  }
  if (names.length > MAX_HEADERS)
    return refused(`There are ${names.length} headers: ${MAX_HEADERS} are the most.`);
  const { data, error } = customHeadersSchema.safeParse(others);
  const [fault] = error ? validationErrorsOf(error) : [];
  if (!data) return refused(`The header ${fault?.pointer.slice(1)} ${fault?.detail}.`);
  const headers = type === undefined ? data : { [CONTENT_TYPE]: type, ...data };
  const unsendable = Object.entries(headers).find(([name, value]) => !canBeSent(name, value));
  if (unsendable) return refused(`The header ${unsendable[0]} cannot be sent.`);
  return { kind: 'made', body, headers };
}

// By Node's own rules: a request with such a header would fail at each attempt, as if the network had.
function canBeSent(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

function refused(message: string): TransformEnd {
  return { kind: 'failed', fault: { message: message.slice(0, MAX_REFUSAL) } };
}

/** In words for those who read an attempt. */
export function describeFault({ message, line, column }: CodeFault): string {
  if (line === undefined) return message;
  return `line ${line}${column === undefined ? '' : `, column ${column}`}: ${message}`;
}
