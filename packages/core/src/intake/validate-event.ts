import type { z } from 'zod';
import { isOperational, publishableTypeNames, publishableTypes } from '../catalogue/built-in/index';
import type { CheckData } from '../catalogue/compile-data-schema';
import { eventTypeNameSchema, MAX_DEPTH } from '../catalogue/custom-event-type';
import { listNames } from '../catalogue/event-types';
import type { EventTypeStore } from '../catalogue/redis-event-type-store';
import { AppError, type Fault } from '../kernel/app-error';
import { faultsOf, shorten } from '../kernel/faults';
import { depthOf } from '../kernel/json';
import { inWords } from '../kernel/zod-words';

/** What a producer hands over, before it was checked against the catalogue. */
export interface UncheckedEvent {
  readonly type: string;
  readonly data: unknown;
  /** The JSON text that `data` was parsed from: a number is in it as it was written, and white space, and all else. */
  readonly dataText: string;
}

export interface ValidateEventDeps {
  readonly eventTypeStore: Pick<EventTypeStore, 'find' | 'names'>;
  /** How long a body may be, in bytes of UTF-8. */
  readonly maxBytes: number;
}

const builtIn = new Map<string, CheckData>(publishableTypes.map(({ name, data }) => [name, checkBy(data)]));

/**
 * Checks `data` against the schema of its type and gives the body that will be delivered: made here, once, around the
 * text of `data` as it came. The same text is stored, signed and sent, on every attempt and to every endpoint. Only a
 * type that is not built in is looked for in the store, each time, so that it is in force as soon as it is there.
 *
 * @throws AppError `invalid_request` for a type that nobody can publish or wrong data, `payload_too_large` for a body over the limit.
 */
export function createValidateEvent({ eventTypeStore, maxBytes }: ValidateEventDeps) {
  return async function validateEvent(event: UncheckedEvent): Promise<string> {
    const check = builtIn.get(event.type) ?? (await findCustom(event.type));
    if (!check) throw invalidEvent([await wrongType(event.type)]);
    if (event.dataText === '') throw invalidEvent([{ pointer: '/data', detail: 'is required' }]);
    if (depthOf(event.dataText) > MAX_DEPTH) throw tooDeep();
    const faults = check(event.data);
    if (faults.length > 0) throw invalidEvent(faults);
    return serialise(event, maxBytes);
  };

  async function findCustom(type: string): Promise<CheckData | undefined> {
    if (isOperational(type) || !eventTypeNameSchema.safeParse(type).success) return undefined;
    return (await eventTypeStore.find(type))?.check;
  }

  async function wrongType(type: string): Promise<Fault> {
    const custom = (await eventTypeStore.names()).toSorted();
    const fault = isOperational(type)
      ? 'is raised by this service itself and can not be published; what can be are'
      : 'is not a known event type; known are';
    return {
      pointer: '/type',
      detail: `"${shorten(type)}" ${fault} ${listNames([...publishableTypeNames, ...custom])}`,
    };
  }
}

export type ValidateEvent = ReturnType<typeof createValidateEvent>;

/** @param cause what went wrong when the depth was noticed too late. */
export function tooDeep(cause?: unknown): AppError {
  return invalidEvent([{ pointer: '/data', detail: `is more than ${MAX_DEPTH} levels deep` }], cause);
}

function checkBy(schema: z.ZodType): CheckData {
  return (data) => {
    const parsed = schema.safeParse(data, inWords);
    return parsed.success ? [] : faultsOf(parsed.error, '/data');
  };
}

function serialise({ type, dataText }: UncheckedEvent, maxBytes: number): string {
  const body = `{"type":${JSON.stringify(type)},"data":${dataText}}`;
  const bytes = Buffer.byteLength(body);
  if (bytes <= maxBytes) return body;
  throw new AppError('payload_too_large', `The event has ${bytes} bytes; at most ${maxBytes} are taken.`);
}

/** An event that is none, by whichever door it came. */
export function invalidEvent(faults: readonly Fault[], cause?: unknown): AppError {
  return new AppError('invalid_request', 'The event is not valid: see "errors".', { faults, cause });
}
