import { shorten } from '@hookferry/producer/fault-words';
import type { z } from 'zod';
import { isOperational, publishableTypes } from '../accounts/event-types/built-in';
import type { CheckData } from '../accounts/event-types/compile-data-schema';
import { MAX_DEPTH } from '../accounts/event-types/custom-event-type';
import { didYouMean, listNames } from '../accounts/event-types/event-types';
import type { EventTypeStore } from '../accounts/event-types/redis-event-type-store';
import { bodyOf, eventTypeNameSchema } from '../domain/event';
import { EVERY_EVENT, matchesType } from '../endpoints/filters/event-filters';
import { AppError, type ValidationError, validationErrorsOf } from '../platform/app-error';
import { depthOf } from '../platform/json';
import { inWords } from '../platform/zod-words';

/** A producer's event, not yet checked against the catalogue. */
export interface UncheckedEvent {
  readonly type: string;
  readonly data: unknown;
  /** The JSON text that `data` was parsed from, unchanged: with its numbers and white space as written. */
  readonly dataText: string;
}

const builtIn = new Map<string, CheckData>(publishableTypes.map(({ name, data }) => [name, checkBy(data)]));

/**
 * Check `data` against the schema of its type and give the body that will be delivered. It is built here,
 * once, around the unchanged text of `data`. The same text is stored, signed and sent, on every attempt and
 * to every endpoint. Only a type that is not built in is read from the store, each time, so that it is in
 * force at once.
 *
 * @param maxBytes the most bytes of a body in UTF-8.
 * @param allowed the only types that the key may publish, in the form of a webhook's `events`: an error names no others.
 * @throws AppError `invalid_request` for a type that can't be published or invalid data, `payload_too_large`
 *   for a body over the limit.
 */
export async function validateEvent(
  eventTypeStore: EventTypeStore,
  maxBytes: number,
  event: UncheckedEvent,
  allowed?: readonly string[],
): Promise<string> {
  const check = checkOf(eventTypeStore, event.type) ?? (await findCustom(eventTypeStore, event.type));
  if (!check) throw invalidEvent([await wrongType(eventTypeStore, event.type, allowed)]);
  if (event.dataText === '') throw invalidEvent([{ pointer: '/data', detail: 'is required' }]);
  if (depthOf(event.dataText) > MAX_DEPTH) throw tooDeep();
  const validationErrors = check(event.data);
  if (validationErrors.length > 0) throw invalidEvent(validationErrors);
  return serialise(event, maxBytes);
}

function checkOf({ publishable }: EventTypeStore, type: string): CheckData | undefined {
  return publishable.length === 0 ? undefined : builtIn.get(type);
}

async function findCustom(eventTypeStore: EventTypeStore, type: string): Promise<CheckData | undefined> {
  if (isOperational(type) || !eventTypeNameSchema.safeParse(type).success) return undefined;
  return (await eventTypeStore.find(type))?.check;
}

async function wrongType(
  eventTypeStore: EventTypeStore,
  type: string,
  allowed: readonly string[] = [EVERY_EVENT],
): Promise<ValidationError> {
  const custom = (await eventTypeStore.names()).toSorted();
  const names = [...custom, ...eventTypeStore.publishable.map(({ name }) => name)].filter((name) =>
    allowed.some((filter) => matchesType(filter, name)),
  );
  const problem = isOperational(type)
    ? 'is an operational event type, which Hookferry alone publishes'
    : `is not a known event type${didYouMean(type, names)}`;
  const advice =
    names.length === 0 ? 'there is none that you can publish' : `you can publish ${listNames(names)}`;
  return { pointer: '/type', detail: `"${shorten(type)}" ${problem}; ${advice}` };
}

/** @param cause the error, if the depth was noticed only by the parser. */
export function tooDeep(cause?: unknown): AppError {
  return invalidEvent([{ pointer: '/data', detail: `is more than ${MAX_DEPTH} levels deep` }], cause);
}

function checkBy(schema: z.ZodType): CheckData {
  return (data) => {
    const parsed = schema.safeParse(data, inWords);
    return parsed.success ? [] : validationErrorsOf(parsed.error, '/data');
  };
}

function serialise({ type, dataText }: UncheckedEvent, maxBytes: number): string {
  const body = bodyOf(type, dataText);
  const bytes = Buffer.byteLength(body);
  if (bytes <= maxBytes) return body;
  throw new AppError('payload_too_large', `The event has ${bytes} bytes; at most ${maxBytes} are accepted.`);
}

/** The error of an invalid event, from the API or the queue. */
export function invalidEvent(validationErrors: readonly ValidationError[], cause?: unknown): AppError {
  return new AppError('invalid_request', 'The event is not valid: see "errors".', {
    validationErrors,
    cause,
  });
}
