import { z } from 'zod';
import { AppError } from '../platform/app-error';
import type { AccountId } from './account';
import type { EndpointId } from './endpoint';
import type { TraceContext } from './trace';

/** Unique within an account, not beyond: wherever an event is stored, its account is part of the key. */
export const eventIdSchema = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,128}$/, 'must be 1 to 128 of A-Z, a-z, 0-9, _ and -')
  .brand<'EventId'>();
export type EventId = z.infer<typeof eventIdSchema>;

export const EVENT_ID_PREFIX = 'evt';

/** The id of a request, as the API makes it or a client may choose it. */
export const REQUEST_ID_FORM = /^[A-Za-z0-9_-]{1,64}$/;

const MAX_TYPE_CHARACTERS = 100;
const TYPE = /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/;

/** The form of names for API descriptions. A lookup finds nothing for any other text. */
export const EVENT_TYPE_NAME_FORM = { pattern: TYPE.source, maxLength: MAX_TYPE_CHARACTERS };

export const eventTypeNameSchema = z
  .string()
  .max(MAX_TYPE_CHARACTERS, `must have at most ${MAX_TYPE_CHARACTERS} characters`)
  .regex(TYPE, 'must be words of a-z 0-9 _ joined by dots, at least two of them, such as invoice.paid');

const MAX_GROUP_BYTES = 256;

/** A group of events, such as those of one order. Webhooks can get the events of a group in order. */
export const eventGroupSchema = z
  .string()
  .regex(/^[^\p{Cc}\p{Cs}]+$/u, `must be 1 to ${MAX_GROUP_BYTES} bytes of text without control characters`)
  .refine(
    (group) => Buffer.byteLength(group) <= MAX_GROUP_BYTES,
    `must have at most ${MAX_GROUP_BYTES} bytes`,
  )
  .meta({ minLength: 1, maxLength: MAX_GROUP_BYTES, example: 'order-4711' });

/**
 * When an event is sent that was published to be sent later. It takes its place in time when it is due: its
 * `acceptedAt` is the time that it is due at, or the time at which it was cancelled.
 */
export interface Schedule {
  readonly state: 'waiting' | 'due' | 'cancelled';
  /** Milliseconds since the Unix epoch, as is the next. */
  readonly publishedAt: number;
  /** When it is due, or would have been. */
  readonly deliverAt: number;
}

/** When a client published an event, also if it was to be sent later. */
export function publishedAtOf({
  acceptedAt,
  schedule,
}: {
  readonly acceptedAt: number;
  readonly schedule?: Schedule | undefined;
}): number {
  return schedule?.publishedAt ?? acceptedAt;
}

/** What can be seen of an event: it waits for its time, it is or was sent, or it was cancelled before. */
export const eventStatuses = ['scheduled', 'accepted', 'cancelled'] as const;
export type EventStatus = (typeof eventStatuses)[number];

export function statusOfEvent({ schedule }: { readonly schedule?: Schedule | undefined }): EventStatus {
  if (schedule === undefined || schedule.state === 'due') return 'accepted';
  return schedule.state === 'waiting' ? 'scheduled' : 'cancelled';
}

/** A customer's event after validation. From here on `body` is the text that is stored, signed and sent. */
export interface AcceptedEvent {
  readonly id: EventId;
  readonly accountId: AccountId;
  readonly type: string;
  /** The exact request body of every delivery: `{"type":…,"data":…}`. */
  readonly body: string;
  /** Milliseconds since the Unix epoch. */
  readonly acceptedAt: number;
  /**
   * The account's endpoints that get it, whatever they subscribe to. Absent: those that subscribe to its
   * type.
   */
  readonly endpointIds?: readonly EndpointId[];
  /** It is noted that a worker fans it out, which may do so once more. */
  readonly isQueued?: true;
  /** It was stored when it was accepted, to wait for its time. */
  readonly isStored?: true;
  /** A client chose its id: it may have been accepted before. */
  readonly isClaimed?: true;
  /** The parent of the spans of its processing; absent where traces were not wanted. */
  readonly trace?: TraceContext;
  /** Absent: it was published to be sent at once. */
  readonly schedule?: Schedule;
  /** Absent: it belongs to none, and waits for no other. */
  readonly group?: string;
  /** Of the request that published it, as its client was told. Absent: there was none, or a version before has stored it. */
  readonly requestId?: string;
}

/** An event whose payload was erased. The event stays recorded; nothing is left to send. */
export interface ErasedEvent extends Omit<AcceptedEvent, 'body'> {
  readonly body?: undefined;
  /** Milliseconds since the Unix epoch. */
  readonly erasedAt: number;
}

/** An event as its record gives it. */
export type StoredEvent = AcceptedEvent | ErasedEvent;

/** The facts about an event without its body. */
export interface EventHead extends Pick<AcceptedEvent, 'type' | 'acceptedAt'> {
  /** Whether it was aimed at certain endpoints: the others are not to know of it. */
  readonly isAimed: boolean;
  /** When its payload was erased, if it was. Milliseconds since the Unix epoch. */
  readonly erasedAt?: number;
  /** Its position in a trace, if it was accepted in one. */
  readonly trace?: TraceContext;
  /** Absent: it was published to be sent at once. */
  readonly schedule?: Schedule;
  readonly group?: string;
  readonly requestId?: string;
}

/** The body around the text of the data. */
export function bodyOf(type: string, dataText: string): string {
  return `${startOf(type)}${dataText}}`;
}

/** The text of the data that a body was made around; `undefined` for a text that is no body of that type. */
export function dataTextIn(body: string, type: string): string | undefined {
  const start = startOf(type);
  return body.startsWith(start) && body.endsWith('}') ? body.slice(start.length, -1) : undefined;
}

/** The text of its data, as it was published. */
export function dataTextOf({ body, type }: Pick<AcceptedEvent, 'body' | 'type'>): string {
  const text = dataTextIn(body, type);
  if (text === undefined) throw new TypeError('The body of an event is not of its type.');
  return text;
}

function startOf(type: string): string {
  return `{"type":${JSON.stringify(type)},"data":`;
}

/** The parsed data of an event. JSON.parse rounds numbers, so nothing that is sent is made from it. */
export function dataOf(body: string): unknown {
  return (JSON.parse(body) as { readonly data?: unknown }).data;
}

export function eventNotFound(): AppError {
  return new AppError('not_found', 'There is no event with this id.');
}

/** The id belongs to an event with other content. */
export function idConflict(id: EventId): AppError {
  return new AppError(
    'event_id_conflict',
    `The id "${id}" belongs to an event of another type, for other webhooks, or with other data, in which spaces and the order of members count; or to one whose payload was erased. Send the same bytes, or use another id.`,
  );
}

/** An event's head is within its first bytes, so that a list need not load whole bodies. */
export const EVENT_HEAD_BYTES = 1024;
