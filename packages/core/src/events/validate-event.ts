import { AppError, type Fault } from '../errors/app-error';
import { faultsOf } from '../errors/zod-faults';
import { isOperational, publishableTypeNames, publishableTypes } from './catalogue/index';

/** What a producer hands over, before it was checked against the catalogue. */
export interface PublishedEvent {
  readonly type: string;
  readonly data: unknown;
}

const byName = new Map<string, (typeof publishableTypes)[number]>(
  publishableTypes.map((type) => [type.name, type]),
);

/**
 * Checks `data` against the schema of its type and gives the body that will be delivered. The body is
 * serialised here, once: the same text is stored, signed and sent, on every attempt and to every endpoint.
 *
 * @param maxBytes how long the body may be, in bytes of UTF-8.
 * @throws AppError `invalid_request` for a type that nobody can publish or wrong data, `payload_too_large` for a body over the limit.
 */
export function validateEvent(event: PublishedEvent, maxBytes: number): string {
  const eventType = byName.get(event.type);
  if (!eventType) throw invalid([wrongType(event.type)]);
  const parsed = eventType.data.safeParse(event.data);
  if (!parsed.success) throw invalid(faultsOf(parsed.error, '/data'));
  return serialise(event, maxBytes);
}

function serialise({ type, data }: PublishedEvent, maxBytes: number): string {
  const body = JSON.stringify({ type, data });
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

function invalid(faults: readonly Fault[]): AppError {
  return new AppError('invalid_request', 'The event is not valid: see "errors".', { faults });
}
