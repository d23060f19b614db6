import type { AccountId } from '../domain/account';
import type { DeliveryParts } from '../domain/delivery';
import { ERASED_LOG_START } from '../domain/delivery-fact';
import { type EndStatus, endStatuses } from '../domain/delivery-log';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import { LAPSES_AFTER_MS } from '../domain/moved-event';
import type { RecordForm } from '../domain/record-form';
import { mapReply, together } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Guard } from '../platform/redis-lua';
import { groupsByCommand, type Step } from '../platform/redis-script';
import {
  isEventErased,
  type LapseDeliveryReply,
  type LapsedRow,
  type LapseEventReply,
  lapseAll,
  lapseDelivery,
  lapseEvent,
  leaveList,
  raiseMovedUntil,
  seeDeliveries,
  seeEvents,
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

/** A delivery that lapses, as it was read. */
export interface LapsingDelivery extends DeliveryParts {
  readonly logVersion: LogVersion;
}

/** An event that lapses with its last delivery, as it was read. */
export interface LapsingEvent extends EventPlace {
  /** Of the delivery that lapses. Absent: the event has none. */
  readonly endpointId: EndpointId | undefined;
  /** Counted as moved, unless it is done already. */
  readonly status: EndStatus | undefined;
  readonly isErased: boolean;
}

/** A delivery with its event, or an event without any, as they were read. */
export interface LapsingRow extends LapsingEvent {
  /** Of the delivery. */
  readonly logVersion: LogVersion;
  /** By which its job is found. Absent: there is no delivery. */
  readonly places:
    | {
        readonly jobs: readonly string[];
        readonly holds: readonly string[];
        readonly batches: readonly string[];
      }
    | undefined;
}

/** What a log was when it was read: it is the same one as long as these are. */
interface LogVersion {
  readonly length: number;
  readonly isErased: boolean;
}

export function logVersionOf(log: string): LogVersion {
  return { length: Buffer.byteLength(log), isErased: log.startsWith(ERASED_LOG_START) };
}

// Processes of the version before do not know that something lapses.
const FORMER_LAPSES_AFTER_MS = 1;

/**
 * What Redis gives to the history. Each step is a guard or harmless when repeated.
 *
 * What the history has *lapses*: it leaves the lists, gets nothing any more, and can be read for a minute longer. So whoever
 * has found it in a list finds it, and what is repeated finds that it is done.
 */
export class MovedStore {
  readonly #lapseMs: number;

  constructor(
    private readonly redis: RedisClient,
    private readonly retention: { readonly ageMs: number },
    form: RecordForm = 'current',
  ) {
    this.#lapseMs = form === 'former' ? FORMER_LAPSES_AFTER_MS : LAPSES_AFTER_MS;
  }

  /** In their order. An error is one of the event's own data. */
  seeEvents(events: readonly EventPlace[]): Step<readonly (SeenEvent | Error)[]> {
    const groups = groupsByCommand(this.redis, events);
    const see = together(groups.map((some) => seeEvents({ eventKeys: some.flatMap(keysOfEvent) })));
    const seeLists = together(
      groups.map((some) => {
        const lists = some.map(({ accountId }) => keys.events(accountId));
        return seeListed({ lists, events: some.map(({ eventId }) => eventId) });
      }),
    );
    // Keys of two nodes in a Cluster.
    return async (target) => {
      const [seen, places] = await Promise.all([see(target), seeLists(target)]);
      const placeOf = places.flat();
      return seen.flat().map(({ text, digest, failure }, i): SeenEvent | Error => {
        const { score, failure: other } = placeOf[i] ?? { score: undefined, failure: undefined };
        const message = failure ?? other;
        if (message !== undefined) return new Error(message);
        return { text: text || undefined, digest, listedAt: score === undefined ? undefined : Number(score) };
      });
    };
  }

  /** The same of deliveries. */
  seeDeliveries(deliveries: readonly DeliveryParts[]): Step<readonly (SeenDelivery | Error)[]> {
    const see = groupsByCommand(this.redis, deliveries).map((some) =>
      seeDeliveries({
        logKeys: some.flatMap(({ endpointId, eventId }) => [
          keys.delivery(endpointId, eventId),
          keys.deliveries(endpointId),
        ]),
        events: some.map(({ eventId }) => eventId),
      }),
    );
    return mapReply(together(see), (seen) =>
      seen.flat().map(({ log, isListed, failure }): SeenDelivery | Error => {
        return failure === undefined ? { log: log || undefined, isListed } : new Error(failure);
      }),
    );
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

  /** Let a delivery lapse, if it is as it was read and not about to be sent again. */
  lapse({ endpointId, eventId, logVersion }: LapsingDelivery): Guard<LapseDeliveryReply | undefined> {
    const { length, isErased } = logVersion;
    return lapseDelivery({ endpoint: endpointId, length, isErased, event: eventId, lapseMs: this.#lapseMs });
  }

  /** Take an endpoint off the receivers of its event. With the last one, the event lapses. */
  lapseEvent(event: LapsingEvent): Guard<LapseEventReply | undefined> {
    const { accountId, eventId, endpointId, status, isErased } = event;
    return lapseEvent({
      account: accountId,
      event: eventId,
      endpoint: endpointId,
      status,
      isErased,
      keptMs: this.retention.ageMs,
      lapseMs: this.#lapseMs,
    });
  }

  /**
   * On one server, all of these steps for many: a delivery that has a job or is held has changed. `failure`: what is wrong with
   * its data.
   */
  lapseAll(rows: readonly LapsingRow[]): Step<readonly LapsedRow[]> {
    return lapseAll({
      lists: rows.map(({ accountId }) => keys.events(accountId)),
      rows: rows.map(({ accountId, eventId, endpointId, logVersion, places, status, isErased }) => ({
        account: accountId,
        event: eventId,
        endpoint: endpointId,
        jobs: places?.jobs ?? [],
        holds: places?.holds ?? [],
        batches: places?.batches ?? [],
        length: logVersion.length,
        isLogErased: logVersion.isErased,
        status,
        isErased,
      })),
      keptMs: this.retention.ageMs,
      lapseMs: this.#lapseMs,
    });
  }

  /** Take an event off the list of its account. Gives whether it was there. */
  leave({ accountId, eventId }: EventPlace): Step<boolean> {
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

function keysOfEvent({ accountId, eventId }: EventPlace): readonly string[] {
  return [keys.event(accountId, eventId), keys.eventClaim(accountId, eventId)];
}
