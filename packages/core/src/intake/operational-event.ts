import { createHash } from 'node:crypto';
import type { z } from 'zod';
import type { operationalTypes } from '../catalogue/built-in/index';
import { encodeBytes, encodeTime } from '../kernel/ids';
import type { EndpointId } from '../model/endpoint';
import { type AccountId, EVENT_ID_PREFIX, type EventId } from '../model/event';

type OperationalType = (typeof operationalTypes)[number];

type Named<Type extends OperationalType> = Type extends OperationalType
  ? { readonly type: Type['name']; readonly data: z.input<Type['data']> }
  : never;

/** Something that an account is told about one of its endpoints. */
export type OperationalEvent = { readonly endpointId: EndpointId } & Named<OperationalType>;

const HOUR_MS = 3_600_000;
const DIGEST_CHARACTERS = 12;

/**
 * The same for all events of one type about one endpoint within an hour of the clock, so that whatever knows an event
 * by its id takes no second one of them.
 */
export function operationalEventId(
  accountId: AccountId,
  { endpointId, type }: Pick<OperationalEvent, 'endpointId' | 'type'>,
  now: number,
): EventId {
  const hourStart = Math.floor(now / HOUR_MS) * HOUR_MS;
  const digest = createHash('sha256').update(`${accountId}:${endpointId}:${type}:${hourStart}`).digest();
  return `${EVENT_ID_PREFIX}_${encodeTime(hourStart)}${encodeBytes(digest, DIGEST_CHARACTERS)}` as EventId;
}
