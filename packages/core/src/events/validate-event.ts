import { AppError, type Fault } from '../errors/app-error';
import { faultsOf } from '../errors/zod-faults';
import { depthOf } from '../runtime/json-text';
import { isOperational, publishableTypeNames, publishableTypes } from './catalogue/index';

/** What a producer hands over, before it was checked against the catalogue. */
export interface UncheckedEvent {
  readonly type: string;
  readonly data: unknown;
  /** The JSON text that `data` was parsed from: a number is in it as it was written, and white space, and all else. */
  readonly dataText: string;
}

/** Deeper data is of no use to anybody, and exhausts the stack of what walks it. */
const MAX_DEPTH = 100;

const byName = new Map<string, (typeof publishableTypes)[number]>(
  publishableTypes.map((type) => [type.name, type]),
);

/**
 * Checks `data` against the schema of its type and gives the body that will be delivered: made here, once, around the
 * text of `data` as it came. The same text is stored, signed and sent, on every attempt and to every endpoint.
 *
 * @param maxBytes how long the body may be, in bytes of UTF-8.
 * @throws AppError `invalid_request` for a type that nobody can publish or wrong data, `payload_too_large` for a body over the limit.
 */
export function validateEvent(event: UncheckedEvent, maxBytes: number): string {
  const eventType = byName.get(event.type);
  if (!eventType) throw invalid([wrongType(event.type)]);
  if (depthOf(event.dataText) > MAX_DEPTH) throw tooDeep();
  const parsed = eventType.data.safeParse(event.data);
  if (!parsed.success) throw invalid(faultsOf(parsed.error, '/data'));
  return serialise(event, maxBytes);
}

export function tooDeep(cause?: unknown): AppError {
  return invalid([{ pointer: '/data', detail: `is more than ${MAX_DEPTH} levels deep` }], cause);
}

function serialise({ type, dataText }: UncheckedEvent, maxBytes: number): string {
  const body = `{"type":${JSON.stringify(type)},"data":${dataText}}`;
  const bytes = Buffer.byteLength(body);
  if (bytes <= maxBytes) return body;
  throw new AppError('payload_too_large', `The event has ${bytes} bytes; at most ${maxBytes} are taken.`);
}

function wrongType(type: string): Fault {
  const fault = isOperational(type)
    ? 'is raised by this service itself and can not be published; what can be are'
    : 'is not a known event type; known are';
  return { pointer: '/type', detail: `"${type}" ${fault} ${publishableTypeNames.join(', ')}` };
}

function invalid(faults: readonly Fault[], cause?: unknown): AppError {
  return new AppError('invalid_request', 'The event is not valid: see "errors".', { faults, cause });
}
