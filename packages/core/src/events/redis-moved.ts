import type { AccountId } from '../domain/account';
import type { DeliveryParts } from '../domain/delivery';
import { type EndStatus, ERASED_LOG_START, endStatuses } from '../domain/delivery-log';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import { mapReply } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Guard } from '../platform/redis-lua';
import type { Step } from '../platform/redis-script';
import {
  checkGone,
  checkUnchanged,
  type DropEventReply,
  dropEvent,
  isEventErased,
  leaveList,
  raiseMovedUntil,
  releaseReceiver,
  removeDelivery,
  seeDelivery,
  seeEvent,
  seeListed,
} from './redis-moved.script';

/** An event as it is stored, and the digest of its claim if a client chose its id. */
export interface SeenEvent {
  /** `undefined`: it is gone. */
  readonly text: string | undefined;
  readonly digest: string | undefined;
  /** Its time in its account's list: it is complete then. `undefined`: it is not there. */
  readonly listedAt: number | undefined;
}

/** A delivery as it is stored. */
export interface SeenDelivery {
  /** `undefined`: nothing has happened yet, or all of it has moved. */
  readonly log: string | undefined;
  /** Whether its endpoint's list has it. Known only without a log. */
  readonly isListed: boolean;
}

/** How many of an event's deliveries have moved, by their status. */
export type MovedCounts = Readonly<Partial<Record<EndStatus, number>>>;

/** The newest times of what has moved. Milliseconds since the Unix epoch; 0: there was none. */
export interface MovedUntil {
  readonly acceptedAt: number;
  readonly attemptAt: number;
}

/** An event of an account. */
export interface EventPlace {
  readonly accountId: AccountId;
  readonly eventId: EventId;
}

/** A delivery that leaves Redis, as it was read. */
export interface RemovedDelivery extends EventPlace, DeliveryParts {
  readonly logVersion: LogVersion;
  /** Counted as moved, unless it is done already. */
  readonly status: EndStatus | undefined;
}

/** An event that leaves Redis, as it was read. */
export interface DroppedEvent extends EventPlace {
  readonly isErased: boolean;
}

/** `later`: its payload was erased since it was read, or it is about to be sent again. */
export type Dropped = DropEventReply['outcome'];

/** What a log was when it was read: it is the same one as long as these are. */
interface LogVersion {
  readonly length: number;
  readonly isErased: boolean;
}

export function logVersionOf(log: string): LogVersion {
  return { length: Buffer.byteLength(log), isErased: log.startsWith(ERASED_LOG_START) };
}

/**
 * What Redis gives to the history. Each step is a guard or harmless when repeated.
 *
 * What moves leaves in this order: the receiver, the log with its place in the endpoint's list, then, with
 * the last receiver, the event. So a delivery that an event's receivers lead to has its log.
 */
export class MovedStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly retention: { readonly ageMs: number },
  ) {}

  seeEvent({ accountId, eventId }: EventPlace): Step<SeenEvent> {
    const account = accountId;
    const see = seeEvent({ account, event: eventId });
    const seeList = seeListed({ account, event: eventId });
    // Keys of two nodes in a Cluster.
    return async (target) => {
      const [{ text, digest }, listedAt] = await Promise.all([see(target), seeList(target)]);
      return {
        text: text || undefined,
        digest,
        listedAt: listedAt === undefined ? undefined : Number(listedAt),
      };
    };
  }

  seeDelivery({ endpointId, eventId }: DeliveryParts): Step<SeenDelivery> {
    return mapReply(seeDelivery({ endpoint: endpointId, event: eventId }), ({ log, isListed }) => ({
      log: log || undefined,
      isListed,
    }));
  }

  /**
   * Everything of the account that was accepted after this is in Redis. `undefined`: nothing has moved, or
   * this Redis does not know. Milliseconds since the Unix epoch.
   */
  async movedUntil(accountId: AccountId): Promise<number | undefined> {
    const movedUntil = await this.redis.get(keys.movedUntil(accountId));
    return movedUntil === null ? undefined : Number(movedUntil);
  }

  /**
   * All of the account's attempts that began after this are in Redis. `undefined`: none has moved, or this
   * Redis does not know. Milliseconds since the Unix epoch.
   */
  async attemptsMovedUntil(accountId: AccountId): Promise<number | undefined> {
    const movedUntil = await this.redis.get(keys.attemptsMovedUntil(accountId));
    return movedUntil === null ? undefined : Number(movedUntil);
  }

  /** Before anything is removed that was accepted then, or has an attempt of then. */
  raiseMovedUntil(accountId: AccountId, { acceptedAt, attemptAt }: MovedUntil): Step<void> {
    return raiseMovedUntil({ account: accountId, acceptedAt, attemptAt });
  }

  /** Whether a delivery is as it was read, and not about to be sent again. */
  guardUnchanged({ endpointId, eventId, logVersion }: RemovedDelivery): Guard<boolean> {
    const { length, isErased } = logVersion;
    return checkUnchanged({ endpoint: endpointId, event: eventId, length, isErased });
  }

  /** Take an endpoint off the receivers of its event. */
  release({ accountId, eventId, endpointId, status }: RemovedDelivery): Step<void> {
    const keptMs = this.retention.ageMs;
    return releaseReceiver({ account: accountId, event: eventId, endpoint: endpointId, status, keptMs });
  }

  /** Remove a delivery's log and its places in lists, if it is as it was read. Gives whether it did. */
  remove({ endpointId, eventId, logVersion }: RemovedDelivery): Guard<boolean> {
    const { length, isErased } = logVersion;
    return removeDelivery({ endpoint: endpointId, length, isErased, event: eventId });
  }

  /** Remove an event that no delivery needs any more. */
  drop({ accountId, eventId, isErased }: DroppedEvent): Guard<DropEventReply | undefined> {
    return dropEvent({ account: accountId, event: eventId, isErased });
  }

  /** Whether an event is not in Redis. It may have been brought back since it was read. */
  guardGone({ accountId, eventId }: EventPlace): Guard<boolean> {
    return checkGone({ account: accountId, event: eventId });
  }

  /** Take an event off the list of its account. */
  leave({ accountId, eventId }: EventPlace): Step<void> {
    return leaveList({ account: accountId, event: eventId });
  }

  /** Tell movers that a payload was erased, once Redis has nothing of it any more. */
  async noteErasure(): Promise<void> {
    await this.redis.incr(keys.erasures);
  }

  /** Changes with each payload that is erased. */
  async erasures(): Promise<string | null> {
    return await this.redis.get(keys.erasures);
  }

  /** Whether the payload of an event was erased, or the event is gone. */
  isErased({ accountId, eventId }: EventPlace): Step<boolean> {
    return isEventErased({ account: accountId, event: eventId });
  }

  /** How many of the event's deliveries have moved, while the event itself is in Redis. */
  async countsOf(accountId: AccountId, id: EventId): Promise<MovedCounts> {
    const counts = await this.redis.hgetall(keys.moved(accountId, id));
    return Object.fromEntries(
      endStatuses.flatMap((status) =>
        counts[status] === undefined ? [] : [[status, Number(counts[status])]],
      ),
    );
  }
}
