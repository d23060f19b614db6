import { createSeededRandom } from '../packages/core/src/testing/seeded-random';

/*
 * What has ended goes from Redis to PostgreSQL, as a random play of everything that takes part. Redis and PostgreSQL
 * are two stores of plain values. All times are in seconds.
 */

export const LAPSES_AFTER = 60;
export const CLAIMED_FOR = 30;
const FOR_EVER = Number.POSITIVE_INFINITY;

/** `event.webhook` */
export type DeliveryName = string;

/** A fact in the log of a delivery. No two are alike. */
export interface Line {
  readonly id: number;
  readonly kind: 'attempted' | 'retried' | 'late' | 'requested' | 'cancelled';
  /** The receiver's response, which an erasure takes away. */
  readonly response?: string | undefined;
  readonly request?: number | undefined;
}

export interface Log {
  lines: readonly Line[];
  isErased: boolean;
}

export interface StoredEvent {
  body: string | undefined;
}

export interface Job {
  readonly request: number | undefined;
  lockedUntil: number;
  owner: number;
}

/**
 * What the protocol relies on. Without one of the rules, something is lost, sent for nothing, or kept that was erased: the
 * tests show each.
 */
export interface Rules {
  /** A log lapses only as it was written to PostgreSQL: with this length, */
  readonly comparesLength: boolean;
  /** and with its responses, or without them. */
  readonly comparesErasure: boolean;
  /** It lapses after the commit. */
  readonly commitsFirst: boolean;
  /** It does not lapse while a job may continue it. */
  readonly waitsForJob: boolean;
  /** A log that lapses gets no more lines. */
  readonly isReadOnly: boolean;
  /** An event lapses with its last receiver. */
  readonly keepsEventForOthers: boolean;
  /** What could not lapse stays in the list of what has ended. */
  readonly comesAgain: boolean;
  /** What is put back goes into that list, too. */
  readonly listsWhatIsPutBack: boolean;
  /** What is about to be sent again does not lapse. */
  readonly marksWhatIsReopened: boolean;
  /** and it gets its job before that mark ends. */
  readonly addsJobInTime: boolean;
  /** An erasure looks at what lapses, too, once PostgreSQL has erased. */
  readonly erasesWhatLapses: boolean;
}

export const ALL_RULES: Rules = {
  comparesLength: true,
  comparesErasure: true,
  commitsFirst: true,
  waitsForJob: true,
  isReadOnly: true,
  keepsEventForOthers: true,
  comesAgain: true,
  listsWhatIsPutBack: true,
  marksWhatIsReopened: true,
  addsJobInTime: true,
  erasesWhatLapses: true,
};

/** In a Cluster, a script has the keys of one tag, so that what one server does at once takes several steps there. */
export type Server = 'one server' | 'a Cluster';

interface Kept {
  readonly value: unknown;
  until: number;
}

/** Keys with a time to live. */
export class Redis {
  readonly #kept = new Map<string, Kept>();
  readonly ended = new Map<DeliveryName, number>();

  constructor(private readonly now: () => number) {}

  get(key: string): unknown {
    return this.#living(key)?.value;
  }

  members(key: string): Set<string> | undefined {
    return this.get(key) as Set<string> | undefined;
  }

  set(key: string, value: unknown, keptFor = FOR_EVER): void {
    this.#kept.set(key, { value, until: this.now() + keptFor });
  }

  delete(key: string): void {
    this.#kept.delete(key);
  }

  expire(key: string, keptFor: number): void {
    const kept = this.#living(key);
    if (kept) kept.until = this.now() + keptFor;
  }

  timeLeft(key: string): number {
    return (this.#living(key)?.until ?? this.now()) - this.now();
  }

  add(key: string, member: string): void {
    const members = this.members(key);
    if (members) members.add(member);
    else this.set(key, new Set([member]));
  }

  remove(key: string, member: string): boolean {
    const members = this.members(key);
    const was = members?.delete(member) ?? false;
    if (members?.size === 0) this.delete(key);
    return was;
  }

  has(key: string, member: string): boolean {
    return this.members(key)?.has(member) ?? false;
  }

  keys(): readonly string[] {
    return [...this.#kept.keys()].filter((key) => this.#living(key) !== undefined);
  }

  #living(key: string): Kept | undefined {
    const kept = this.#kept.get(key);
    if (kept && kept.until > this.now()) return kept;
    this.#kept.delete(key);
    return undefined;
  }
}

export const RETENTION = 1_000_000;

/** Both stores, and what has really happened: the last must agree with the first two in the end. */
export class World {
  now = 0;
  readonly redis = new Redis(() => this.now);
  readonly movedEvents = new Map<string, StoredEvent>();
  readonly movedLogs = new Map<DeliveryName, Log>();

  readonly published: DeliveryName[] = [];
  readonly recorded = new Map<DeliveryName, number[]>();
  readonly requests = new Map<number, DeliveryName>();
  readonly erased = new Set<string>();
  readonly faults: string[] = [];
  readonly random: () => number;
  #lastId = 0;

  constructor(
    seed: number,
    readonly server: Server,
    readonly rules: Rules,
  ) {
    this.random = createSeededRandom(seed);
  }

  /** 0, 1, … below `count`. */
  chance(count: number): number {
    return Math.floor(this.random() * count);
  }

  oneOf<Item>(items: readonly Item[]): Item | undefined {
    return items[this.chance(items.length)];
  }

  newId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  logOf(delivery: DeliveryName): Log | undefined {
    return this.redis.get(`log:${delivery}`) as Log | undefined;
  }

  eventOf(event: string): StoredEvent | undefined {
    return this.redis.get(`event:${event}`) as StoredEvent | undefined;
  }

  jobOf(delivery: DeliveryName): Job | undefined {
    return this.redis.get(`job:${delivery}`) as Job | undefined;
  }

  isListed(delivery: DeliveryName): boolean {
    const { event, webhook } = partsOf(delivery);
    return this.redis.has(`list:${webhook}`, event);
  }

  /** An unlisted log that is about to expire: PostgreSQL has it. */
  lapses(delivery: DeliveryName): boolean {
    const left = this.redis.timeLeft(`log:${delivery}`);
    return left > 0 && left <= LAPSES_AFTER && !this.isListed(delivery);
  }

  /** One script: gives whether the line was appended, as to no log that has changed, nor to one that lapses. */
  append(delivery: DeliveryName, length: number, line: Line): boolean {
    const log = this.logOf(delivery);
    if ((log?.lines.length ?? 0) !== length) return false;
    if (log && this.rules.isReadOnly && this.lapses(delivery)) return false;
    const isErased = log?.isErased ?? false;
    const added = isErased ? { ...line, response: undefined } : line;
    this.redis.set(`log:${delivery}`, { lines: [...(log?.lines ?? []), added], isErased }, RETENTION);
    this.recorded.set(delivery, [...(this.recorded.get(delivery) ?? []), line.id]);
    return true;
  }

  addReceiver(delivery: DeliveryName): void {
    const { event, webhook } = partsOf(delivery);
    this.redis.add(`receivers:${event}`, webhook);
  }

  enlist(delivery: DeliveryName): void {
    const { event, webhook } = partsOf(delivery);
    this.redis.add(`list:${webhook}`, event);
  }
}

export function partsOf(delivery: DeliveryName): { readonly event: string; readonly webhook: string } {
  const [event = '', webhook = ''] = delivery.split('.');
  return { event, webhook };
}

export function isOpen(log: Log | undefined): boolean {
  const last = log?.lines.at(-1);
  return last === undefined || last.kind === 'requested' || last.kind === 'retried';
}

export function withoutResponses({ lines }: Log): Log {
  return { isErased: true, lines: lines.map((line) => ({ ...line, response: undefined })) };
}
