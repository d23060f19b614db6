import { randomUUID } from 'node:crypto';
import type { JobsOptions } from 'bullmq';
import { eventJobId, type PublishedEventJob } from './contract';
import { nearestTo, shorten } from './fault-words';
import { PublishError } from './publish-error';

interface EventOptions {
  /** Default: `default`, the account that every service has. */
  readonly accountId?: string;
  /**
   * 1 to 128 of `A-Z a-z 0-9 _ -`, unique in the account: publishing again with the same id makes no second event.
   * Default: a generated one.
   */
  readonly id?: string;
  /** Only these webhooks of the account get it (1 to 100, each by its id or `uid`), whichever types they asked for. */
  readonly webhookIds?: readonly string[];
  /** When to send it, at most some weeks ahead. A string is RFC 3339. Default, and if up to a minute ago: at once. */
  readonly deliverAt?: Date | string;
  /** The thing that it belongs to, such as an order: 1 to 256 bytes. Webhooks can get the events of a group in order. */
  readonly group?: string;
}

/** An event whose `data` has the type that `Events` declares for its `type`. */
export type EventInput<Events extends object> = {
  [Type in keyof Events & string]: EventOptions & { readonly type: Type; readonly data: Events[Type] };
}[keyof Events & string];

/** Any event, without the types of its data, which do not exist at run time. */
export type AnyEvent = EventOptions & { readonly type: string; readonly data: unknown };

export interface EventJob {
  readonly eventId: string;
  readonly name: string;
  readonly data: PublishedEventJob;
  readonly opts: JobsOptions;
}

const MEMBERS = ['type', 'data', 'accountId', 'id', 'webhookIds', 'deliverAt', 'group'] as const;
const DEFAULT_ACCOUNT = 'default';
const ID = /^[A-Za-z0-9_-]{1,128}$/;
const MAX_WEBHOOKS = 100;

/** @param trace the `traceparent` to send with it. @throws PublishError `invalid_event`. */
export function toEventJob(event: AnyEvent | null | undefined, trace?: string): EventJob {
  const refuse = (what: string, cause?: unknown): never => {
    throw new PublishError('invalid_event', `The event cannot be published: ${what}.`, undefined, cause);
  };
  const unknown = Object.keys(event ?? {}).find((name) => !isMember(name));
  if (unknown !== undefined) refuse(describeUnknown(unknown));
  // Callers without TypeScript may pass none. Then the error says that its type is missing.
  const {
    accountId = DEFAULT_ACCOUNT,
    type,
    data,
    id,
    webhookIds,
    deliverAt,
    group,
  } = (event ?? {}) as AnyEvent;
  if (typeof type !== 'string' || type === '') refuse('its type must be a text, such as "order.created"');
  if (typeof accountId !== 'string' || accountId === '') refuse('its accountId must be the id of an account');
  if (id !== undefined && !(typeof id === 'string' && ID.test(id)))
    refuse('its id must be 1 to 128 of A-Z, a-z, 0-9, _ and -');
  if (webhookIds !== undefined && !isListOfSome(webhookIds)) {
    refuse(`webhookIds must be a list of 1 to ${MAX_WEBHOOKS}, or be left out for all webhooks`);
  }
  if (group !== undefined && !isGroup(group)) refuse('its group must be text of 1 to 256 bytes');
  const deliver_at =
    timeOf(deliverAt) ?? refuse('its deliverAt must be a time, such as "2030-01-31T12:00:00Z"');
  try {
    if (JSON.stringify(data) === undefined) refuse('its data must be a JSON value');
  } catch (error) {
    if (error instanceof PublishError) throw error;
    refuse('its data cannot be written as JSON', error);
  }
  const eventId = id ?? randomUUID();
  return {
    eventId,
    name: type,
    data: {
      account_id: accountId,
      type,
      data,
      id: eventId,
      ...(webhookIds === undefined ? {} : { webhook_ids: webhookIds }),
      ...(trace === undefined ? {} : { trace }),
      // Workers that do not know this version leave the job to newer workers.
      ...(deliver_at === '' ? {} : { deliver_at, v: 2 }),
      ...(group === undefined ? {} : { group, v: 3 }),
    },
    opts: { jobId: eventJobId(accountId, eventId) },
  };
}

function isMember(name: string): boolean {
  return (MEMBERS as readonly string[]).includes(name);
}

/** A member that is left out would send the event to another account, to other webhooks or at another time. */
function describeUnknown(name: string): string {
  const meant = nearestTo(name.replaceAll(/[^A-Za-z]/g, ''), MEMBERS);
  const hint = meant === undefined ? `it may have ${MEMBERS.join(', ')}` : `you may mean "${meant}"`;
  return `it has no member "${shorten(name)}"; ${hint}`;
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/** Empty if there is none; `undefined` if it is not a time. */
function timeOf(deliverAt: unknown): string | undefined {
  if (deliverAt === undefined) return '';
  if (typeof deliverAt === 'string' && !TIME.test(deliverAt)) return undefined;
  const time = typeof deliverAt === 'string' ? new Date(deliverAt) : deliverAt;
  return time instanceof Date && Number.isFinite(time.getTime()) ? time.toISOString() : undefined;
}

const MAX_GROUP_BYTES = 256;

function isGroup(group: unknown): boolean {
  const isText = typeof group === 'string' && /^[^\p{Cc}\p{Cs}]+$/u.test(group);
  return isText && Buffer.byteLength(group) <= MAX_GROUP_BYTES;
}

function isListOfSome(webhookIds: readonly string[]): boolean {
  return Array.isArray(webhookIds) && webhookIds.length > 0 && webhookIds.length <= MAX_WEBHOOKS;
}
