import type { AccountId } from '../domain/account';
import type { AcceptedEvent, EventHead, EventId, Schedule, StoredEvent } from '../domain/event';
import type { RecordForm } from '../domain/record-form';
import { formatTraceparent, parseTraceparent } from '../domain/trace';
import { parsedOrUndefined } from '../platform/json';
import {
  decodeFormerHead,
  encodeFormerEvent,
  encodeFormerHead,
  encodeFormerStored,
  isFormer,
  isFormerNotedAsQueued,
} from './former-event-text';

/**
 * How an event is stored: its head, which is a line of JSON, and the unchanged body. Scripts look for members in it: see
 * `redis-event-head.lua`.
 */
interface StoredHead {
  /** Of an event that was published to be sent later. */
  readonly state?: Schedule['state'] | undefined;
  /** When it would have been due that was cancelled. */
  readonly deliver_at?: number | undefined;
  /** Its place in time: see `Schedule`. Milliseconds since the Unix epoch, as are all times here. */
  readonly at: number;
  readonly type: string;
  /** It is aimed at certain endpoints. */
  readonly aimed?: true | undefined;
  /** It is noted that a worker fans it out. */
  readonly queued?: true | undefined;
  /** Of an event that was published to be sent later. */
  readonly published_at?: number | undefined;
  readonly group?: string | undefined;
  /** The id of the request that published it. */
  readonly req?: string | undefined;
  readonly traceparent?: string | undefined;
  /** When its payload was erased. */
  readonly erased_at?: number | undefined;
}

export function encodeEvent(event: AcceptedEvent, form: RecordForm = 'current'): string {
  if (form === 'former') return encodeFormerEvent(event);
  const { acceptedAt, type, body, endpointIds, isQueued, trace, schedule, group, requestId } = event;
  const isAimed = endpointIds !== undefined;
  return `${textOf({ acceptedAt, type, isAimed, trace, schedule, group, requestId }, isQueued)}\n${body}`;
}

/** An event by its head. @param body '' once it was erased. */
export function encodeStored(head: EventHead, body: string, form: RecordForm = 'current'): string {
  return form === 'former' ? encodeFormerStored(head, body) : `${textOf(head)}\n${body}`;
}

export function encodeHead(head: EventHead, form: RecordForm = 'current'): string {
  return form === 'former' ? encodeFormerHead(head) : textOf(head);
}

type Writable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

/** What of an event its head tells. */
type Told = { readonly [Name in keyof EventHead]: EventHead[Name] | undefined } & {
  readonly acceptedAt: number;
  readonly type: string;
};

// Member by member: one JSON.stringify of all of them takes seven times as long, and each event is written once.
function textOf(told: Told, isQueued?: true): string {
  const { acceptedAt, type, isAimed, erasedAt, trace, schedule, group, requestId } = told;
  let text = schedule === undefined ? '{' : `{"state":"${schedule.state}",`;
  if (schedule?.state === 'cancelled') text += `"deliver_at":${schedule.deliverAt},`;
  text += `"at":${acceptedAt},"type":${JSON.stringify(type)}`;
  if (isAimed) text += ',"aimed":true';
  if (isQueued) text += ',"queued":true';
  if (schedule !== undefined) text += `,"published_at":${schedule.publishedAt}`;
  if (group !== undefined) text += `,"group":${JSON.stringify(group)}`;
  if (requestId !== undefined) text += `,"req":"${requestId}"`;
  if (trace !== undefined) text += `,"traceparent":"${formatTraceparent(trace)}"`;
  if (erasedAt !== undefined) text += `,"erased_at":${erasedAt}`;
  return `${text}}`;
}

/** Whether a stored event notes that a worker fans it out. */
export function isNotedAsQueued(stored: string): boolean {
  return isFormer(stored) ? isFormerNotedAsQueued(stored) : parseHead(stored).queued === true;
}

export function decodeStored(accountId: AccountId, id: EventId, stored: string): StoredEvent {
  const { type, acceptedAt, erasedAt, trace, schedule, group, requestId } = decodeHead(stored);
  const known: Writable<Omit<AcceptedEvent, 'body'>> = { id, accountId, type, acceptedAt };
  if (trace !== undefined) known.trace = trace;
  if (schedule !== undefined) known.schedule = schedule;
  if (group !== undefined) known.group = group;
  if (requestId !== undefined) known.requestId = requestId;
  if (erasedAt !== undefined) return Object.assign(known, { erasedAt });
  return Object.assign(known, { body: stored.slice(stored.indexOf('\n') + 1) });
}

/** @param stored an event, or its beginning. */
export function decodeHead(stored: string): EventHead {
  if (isFormer(stored)) return decodeFormerHead(stored);
  const told = parseHead(stored);
  const head: Writable<EventHead> = {
    type: told.type,
    acceptedAt: told.at,
    isAimed: told.aimed === true,
  };
  if (told.erased_at !== undefined) head.erasedAt = told.erased_at;
  const trace = told.traceparent === undefined ? undefined : parseTraceparent(told.traceparent);
  if (trace !== undefined) head.trace = trace;
  const schedule = scheduleOf(told);
  if (schedule !== undefined) head.schedule = schedule;
  if (told.group !== undefined) head.group = told.group;
  if (told.req !== undefined) head.requestId = told.req;
  return head;
}

function scheduleOf({ state, at, published_at: publishedAt, deliver_at: deliverAt = at }: StoredHead) {
  if (state === undefined || publishedAt === undefined) return undefined;
  return { state, publishedAt, deliverAt };
}

// Only this product writes it. Any other text is an event without a time and a type.
function parseHead(stored: string): StoredHead {
  const parsed = parsedOrUndefined(stored.slice(0, stored.indexOf('\n')));
  return (parsed as StoredHead | undefined) ?? { at: Number.NaN, type: '' };
}
