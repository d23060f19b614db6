import { z } from 'zod';
import type { Step } from '../platform/redis-script';
import type { AccountId } from './account';
import { type EndpointId, endpointIdSchema, type LaneName, laneNameOf } from './endpoint';
import { type EventId, eventIdSchema } from './event';

declare const brand: unique symbol;

/**
 * `<event id>.<webhook id>`: a function of the two, so a fan-out that runs twice makes the same delivery, and
 * a job needs no other data. Neither part can contain a dot.
 */
export type DeliveryId = string & { readonly [brand]: 'DeliveryId' };

export interface DeliveryParts {
  readonly eventId: EventId;
  readonly endpointId: EndpointId;
}

/** A delivery that needs a job. */
export interface NewDelivery extends DeliveryParts {
  readonly accountId: AccountId;
  /** When its event was accepted, if that is known here. Milliseconds since the Unix epoch. */
  readonly acceptedAt?: number | undefined;
  /** Whether its endpoint uses a lane: see `usesLane`. The worker that takes a job decides it by the endpoint's record. */
  readonly isInLane?: boolean | undefined;
  /** Of the lane: see `lineOf`. Absent: that is for the whole endpoint. */
  readonly line?: string | undefined;
  /** Whether that lane's deliveries go in batches, and need not wait for each other. */
  readonly isInBatches?: boolean | undefined;
  /** Whether it was accepted just now: then it goes behind all others of its lane. */
  readonly isNew?: boolean | undefined;
}

export function deliveryIdOf({ eventId, endpointId }: DeliveryParts): DeliveryId {
  return `${eventId}.${endpointId}` as DeliveryId;
}

/** Gives `undefined` for a text that is not a delivery id. */
export function parseDeliveryId(text: string): DeliveryParts | undefined {
  const dot = text.indexOf('.');
  const eventId = eventIdSchema.safeParse(text.slice(0, dot));
  const endpointId = endpointIdSchema.safeParse(text.slice(dot + 1));
  if (dot === -1 || !eventId.success || !endpointId.success) return undefined;
  return { eventId: eventId.data, endpointId: endpointId.data };
}

/** The form of delivery ids for API descriptions, as `parseDeliveryId` accepts them. */
export const DELIVERY_ID_FORM = { pattern: '^[A-Za-z0-9_-]{1,128}[.]wh_[0-9a-z]{22}$' };

const LANE_JOB = 'lane/';
const BATCH_JOB = 'batch/';

/** The id of the job of a lane. No delivery has it: the id of an event has no slash. */
export function laneJobIdOf(lane: LaneName): string {
  return LANE_JOB + lane;
}

export interface ParsedLane {
  readonly name: LaneName;
  readonly endpointId: EndpointId;
  /** Absent: it is for the whole endpoint. */
  readonly line: string | undefined;
}

const LANE_NAME = /^(?:([A-Za-z0-9_-]+)[.])?([^.]+)$/;

/** Gives `undefined` for another job's. */
export function parseLaneJobId(jobId: string): ParsedLane | undefined {
  if (!jobId.startsWith(LANE_JOB)) return undefined;
  const [, line, endpoint] = LANE_NAME.exec(jobId.slice(LANE_JOB.length)) ?? [];
  const endpointId = endpointIdSchema.safeParse(endpoint).data;
  return endpointId && { name: laneNameOf(endpointId, line), endpointId, line };
}

/** The id of the job of a batch. @param name as the index of the endpoint's batches has it */
export function batchJobIdOf(name: string, endpointId: EndpointId): string {
  return `${BATCH_JOB}${name}.${endpointId}`;
}

/** Gives `undefined` for another job's. */
export function parseBatchJobId(jobId: string): EndpointId | undefined {
  if (!jobId.startsWith(BATCH_JOB)) return undefined;
  return endpointIdSchema.safeParse(jobId.slice(jobId.lastIndexOf('.') + 1)).data;
}

/** The endpoint of a job, be it a delivery's, a batch's or a lane's. */
export function endpointOfJob(jobId: string): EndpointId | undefined {
  return parseLaneJobId(jobId)?.endpointId ?? parseBatchJobId(jobId) ?? parseDeliveryId(jobId)?.endpointId;
}

/** The reasons for which a client requests a delivery. */
export const requestTriggers = ['manual', 'replay', 'test'] as const;
export type RequestTrigger = (typeof requestTriggers)[number];

/** The cause of an attempt: the schedule, or the kind of request. */
export const triggers = ['schedule', ...requestTriggers] as const;

export const triggerSchema = z.enum(triggers);
export type Trigger = z.infer<typeof triggerSchema>;

/** One run of a delivery's job. */
export interface DeliveryRun {
  readonly accountId: AccountId;
  readonly eventId: EventId;
  readonly endpointId: EndpointId;
  /** Whether the job ran before: it was held, tried, or taken over from a worker that died. */
  readonly hasWaited: boolean;
  /** Why its job was held, the last few reasons. Those before the former attempt may be among them. */
  readonly holds?: readonly PastHold[] | undefined;
  /** Whether it was taken over from a worker that stopped renewing its lock. */
  readonly wasTakenOver: boolean;
  /**
   * Until when this process surely owns the job. A process that was stopped for longer may have lost it to
   * another one without having noticed: it sends nothing after this without asking. Milliseconds since the Unix
   * epoch.
   */
  readonly ownedUntil: number;
  /** When the job was taken, of a clock that never jumps. Milliseconds; absent: just now. */
  readonly takenAt?: number;
  /**
   * Ask Redis, which needs no clock of this process, whether it still owns the job; if so, it does for as long again.
   * Absent: `ownedUntil` alone tells.
   */
  readonly keepJob?: Step<boolean>;
  /** The request that the job was added for, if a client requested the delivery once more. */
  readonly request?: DeliveryRequested | undefined;
  /** Records that were read together with the job. Absent: the attempt reads them. */
  readonly texts?: DeliveryTexts | undefined;
  /**
   * The steps that let go of the job in the same script as a record. Absent: the result of the run tells what
   * becomes of the job.
   */
  readonly stepsToEnd?: ((end: JobEnd) => readonly Step[]) | undefined;
  /** Absent: it goes alone. */
  readonly batch?: DeliveryBatch | undefined;
  /** Absent: it has a job of its own. */
  readonly lane?: LaneRun | undefined;
  /**
   * Make it an entry of a lane, in place of its job. Gives `false` if it stays. Absent: it can't.
   */
  readonly joinLane?:
    | ((lane: LaneName, acceptedAt: number, place: JoinedPlace) => Promise<boolean>)
    | undefined;
}

/** An entry of a lane, with its place. */
export interface LanePlace {
  readonly eventId: EventId;
  /** Mostly when its event was accepted. Milliseconds since the Unix epoch. */
  readonly acceptedAt: number;
  /** The request that it is to be sent for, as it is stored. Absent: there is none, or it was not read. */
  readonly request?: string | undefined;
}

export function isBefore(one: LanePlace, other: LanePlace): boolean {
  if (one.acceptedAt !== other.acceptedAt) return one.acceptedAt < other.acceptedAt;
  return one.eventId < other.eventId;
}

export function encodePlace({ eventId, acceptedAt }: LanePlace): string {
  return `${acceptedAt} ${eventId}`;
}

export function decodePlace(text: string): LanePlace {
  const [place, eventId = ''] = text.split(' ');
  return { eventId: eventId as EventId, acceptedAt: Number(place) };
}

/** Why a lane does not go on. */
export interface LaneHold extends PastHold {
  /** Of a line: when to ask for a wake-up. Milliseconds since the Unix epoch. Absent: none is needed. */
  readonly wakeUpAt?: number;
  /** Whether it waits for a delivery that has a job: then wake-ups leave a line alone. */
  readonly isBehindJob?: boolean;
  /** It goes on as soon as so many are in it, or when its time is over. Wake-ups leave a line alone. */
  readonly fullAt?: number;
  readonly previousStartedAt?: number | undefined;
}

/** `keeps_turn`: it was tried already, in its order. `in_batches`: those of its lane need not wait for each other. */
export type JoinedPlace = 'in_order' | 'keeps_turn' | 'in_batches';

/** A delivery of a lane, as the lane's job runs it: mostly the first one. */
export interface LaneRun {
  readonly name: LaneName;
  /** Whether it is that of a group, beside others of the endpoint. */
  readonly isLine: boolean;
  /**
   * - `first`: its turn has begun.
   * - `behind_event`: an older event may still bring a delivery.
   * - `behind_job`: an older delivery has a job of its own, since that failed for good or is of a version before, and is in the
   *   order that these keep.
   * - `unknown`: whoever runs it has to look, and then to ask for its turn.
   */
  readonly turn: 'first' | 'behind_event' | 'behind_job' | 'unknown';
  /** Its place in the lane. Milliseconds since the Unix epoch. */
  readonly place: number;
  /** Whether there are deliveries in that order; this one may be as well. */
  readonly isBesideJobs: boolean;
  /** Whether the lane did not go on before. */
  readonly wasHeld: boolean;
  /** Whether its turn had begun when its job was taken. */
  readonly hadBegun: boolean;
  /** Whether it was in a request, together with those that it goes with again. */
  readonly wentTogether: boolean;
  /** The last one that was sent in place of all before it. */
  readonly sent: LanePlace | undefined;
  /** Whether it runs in place of the first one, as the newest. */
  readonly goesAsNewest: boolean;
  /** Take the turn, unless another one has become the first, or the newest. */
  begin(as: 'first' | 'newest'): Promise<boolean>;
  /** If this run is put off, its turn ends, though it had begun before. */
  giveTurnBack(): void;
  /** Its request is about to be sent in place of all before it. */
  markSent(): Promise<void>;
  /** It was not sent after all. */
  unmarkSent(): Promise<void>;
  findNewest(): Promise<LanePlace | undefined>;
  /** The first of these that is not in the lane. */
  findOutside(entries: readonly LanePlace[]): Promise<LanePlace | undefined>;
  /** Another entry, to be read. */
  runOf(entry: LanePlace): DeliveryRun;
  /** The same job runs another entry from now on, as the newest. */
  goTo(entry: LanePlace): DeliveryRun;
  /** Newer ones may come: none is held meanwhile. */
  waitInWindow(): Promise<void>;
  /**
   * It does not go on: all its deliveries are held. A line is held like a delivery that has a job, until a wake-up lets it go.
   *
   * @returns `false`: as many are in it as it waits for, and it is not held.
   */
  hold(hold: LaneHold): Promise<boolean>;
  /** Some in order, from a position, with their requests. */
  list(from: number, most: number): Promise<readonly LanePlace[]>;
  /** Forget some that have ended. The one that runs stays. */
  drop(events: readonly EventId[]): Promise<void>;
  /** Give these jobs of their own; the rest of the lane follows behind them. It ends the run. */
  leave(entries: readonly LanePlace[]): Promise<void>;
}

/**
 * The deliveries that go in one request. They have one job until each of them has ended, or the one job of a lane in strict
 * order: so the same ones go together again, whichever process takes it.
 */
export interface DeliveryBatch {
  /** Of their job, once they have been gathered. */
  readonly jobId: string;
  /**
   * Give those that go together, in order: the members of a batch that there is, or else the first ones of the lane. Without an order
   * these are a batch from then on; in an order, once they are kept together.
   *
   * @returns none: the job is not this process' any more.
   */
  gather(wanted: WantedBatch): Promise<readonly DeliveryRun[]>;
  /**
   * In an order: these are about to go in one request, and go together until they have ended.
   *
   * @param gathered all that were, these among them.
   * @returns `false`: others have come between them since.
   */
  keepTogether(events: readonly EventId[], gathered: readonly EventId[]): Promise<boolean>;
  /** The steps that let go of the job. @param ends of all that were gathered */
  stepsToEnd(ends: readonly MemberEnd[]): readonly Step[];
}

export interface WantedBatch {
  /** How many go in one request. */
  readonly most: number;
  /** Whether they stay in the lane, and nothing else of it goes before they have ended. */
  readonly isInOrder: boolean;
  /** Of their events together, as far as one server can tell. */
  readonly maxBytes: number;
}

/** What becomes of a delivery of a batch. Those that are delayed in the same way, and were in one request, go together again. */
export interface MemberEnd {
  readonly eventId: EventId;
  /** `alone`: it is none of the batch any more, and waits as if it never was; with a `failure`, its own job fails for good. */
  readonly end: JobEnd | { readonly kind: 'alone'; readonly failure?: string };
  /** Of a batch that goes in two requests: whether it is in the second one. */
  readonly isInSecond?: boolean;
}

/** What an attempt needs, as it is stored. */
export interface DeliveryTexts {
  readonly log: string | null;
  readonly breaker: string | null;
  readonly endpoint: string | null;
  /** `undefined`: this process has read it a moment ago. */
  readonly event: string | null | undefined;
  /** Of a clock that never jumps. Milliseconds. */
  readonly readAt: number;
}

/** What happens to a job after its run. */
export type JobEnd =
  | { readonly kind: 'done' }
  | {
      readonly kind: 'delayed';
      readonly delayMs: number;
      /** Why its attempt has failed; absent: there was no attempt. */
      readonly failure?: string | undefined;
    };

export interface DeliveryRequested {
  readonly requestId: string;
  readonly trigger: RequestTrigger;
  /** Milliseconds since the Unix epoch. */
  readonly requestedAt: number;
}

/**
 * Why a delivery is held: the cause as a clause, and when it is sent. All that tells it reads these words; the portal has its own, in
 * each language. Records have the positions: a new one goes at the end.
 */
export const holdWords = {
  disabled: { cause: 'its webhook is disabled', ends: 'once the webhook is enabled' },
  unverified: {
    cause: 'its receiver has not shown yet that it wants the requests',
    ends: 'once the receiver has, or verification is no longer required',
  },
  breaker_open: { cause: 'its webhook failed several times in a row', ends: 'once a trial succeeds' },
  busy: { cause: 'its webhook takes no more requests at once', ends: 'when one under way ends' },
  rate_limited: { cause: 'the rate limit of its webhook is reached', ends: 'when its turn comes' },
  ordering: { cause: 'an event before it goes first', ends: 'when that one has ended' },
  no_token: {
    cause: 'the token URL of its webhook gives no access token',
    ends: 'once there is one; the service asks again and again',
  },
  batching: {
    cause: 'it waits for others to go with',
    ends: 'when there are enough, or the longest wait of its webhook is over',
  },
} as const;
export type HoldReason = keyof typeof holdWords;
export const holdReasons = Object.keys(holdWords) as readonly HoldReason[];

export function byHoldReason<Value>(valueOf: (reason: HoldReason) => Value) {
  return Object.fromEntries(holdReasons.map((reason) => [reason, valueOf(reason)])) as Readonly<
    Record<HoldReason, Value>
  >;
}

/** That a delivery was held before an attempt: until the next hold, or until the attempt. */
export interface PastHold {
  readonly reason: HoldReason;
  /** Milliseconds since the Unix epoch. */
  readonly since: number;
}

/** Whether a delivery with these holds, all of them since its former attempt, was held at a time. */
export function wasHeldAt([first]: readonly PastHold[], at: number): boolean {
  return first !== undefined && first.since <= at;
}

// A letter and a time in base 36, which has eight digits until the year 2059: nine characters each, without a separator.
const HOLD = /([a-z])([0-9a-z]{8})/g;
const FIRST_LETTER = 'a'.charCodeAt(0);

export function encodeHold({ reason, since }: PastHold): string {
  return String.fromCharCode(FIRST_LETTER + holdReasons.indexOf(reason)) + encodeHoldTime(since);
}

/** Texts of these are in the order of the times. */
export function encodeHoldTime(time: number): string {
  return time.toString(36).padStart(8, '0');
}

/** The holds that a text has, one after the other. */
export function decodeHolds(text: string): readonly PastHold[] {
  return [...text.matchAll(HOLD)].flatMap(([, letter = '', time = '']) => {
    const reason = holdReasons[letter.charCodeAt(0) - FIRST_LETTER];
    return reason === undefined ? [] : [{ reason, since: Number.parseInt(time, 36) }];
  });
}

/** What a lane tells of its holds to a delivery that came to it at a time. */
export function holdsSince(holds: readonly PastHold[], at: number): readonly PastHold[] {
  const before = holds.findLastIndex(({ since }) => since <= at);
  return holds
    .slice(Math.max(before, 0))
    .map(({ reason, since }) => ({ reason, since: Math.max(since, at) }));
}

/** Why an attempt counts as slow: it takes long, or too many attempts go to unknown endpoints. */
export const slowReasons = ['slow', 'stranger'] as const;
export type SlowReason = (typeof slowReasons)[number];
