import type { AccountId } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import { type AcceptedEvent, type EventHead, type EventId, idConflict, publishedAtOf } from '../domain/event';
import type { Emit } from '../domain/signal';
import { encodeEvent } from '../events/event-text';
import { digestOf } from '../events/redis-moved-ids';
import { AppError } from '../platform/app-error';
import { atEndOfTurn } from '../platform/end-of-turn';
import { isRefusal, isUnavailable } from '../platform/redis-errors';

/** An event as PostgreSQL keeps it until all of its deliveries have ended. */
export interface IntakeEvent {
  readonly accountId: AccountId;
  readonly eventId: EventId;
  /** Its place in time. Milliseconds since the Unix epoch. */
  readonly acceptedAt: number;
  /** Of its content, as in the claim of its id. */
  readonly digest: string;
  /** As Redis stores it. */
  readonly text: string;
  /** Its receivers; `undefined`: they are found later. */
  readonly endpointIds: readonly EndpointId[] | undefined;
}

/** The state of an event in the table before it was to be added. */
export interface KnownIntake {
  readonly head: EventHead;
  readonly digest: string;
  readonly isErased: boolean;
}

/** - `added`: it was new. - `there`: an event with its id was there, and stays. */
export type IntakeResult =
  | { readonly kind: 'added' }
  | { readonly kind: 'there'; readonly known: KnownIntake | undefined };

/** The table in PostgreSQL that has events before Redis does. */
export interface IntakeTable {
  /** Add events, on disk when it resolves: a result for each, in their order. */
  add(events: readonly IntakeEvent[]): Promise<readonly IntakeResult[]>;
  remove(events: readonly Pick<IntakeEvent, 'accountId' | 'eventId'>[]): Promise<void>;
}

/** An event that is about to be stored. */
export interface ComingEvent {
  readonly event: AcceptedEvent;
  readonly endpointIds: readonly EndpointId[] | undefined;
}

interface Waiting {
  readonly event: IntakeEvent;
  readonly resolve: (result: IntakeResult) => void;
  readonly reject: (error: unknown) => void;
}

/** One is on its way to the disk while the next one is parsed. More would only make each smaller. */
export const COMMITS_AT_ONCE = 2;
const MOST_TOGETHER = 500;
const MOST_CHARACTERS = 4 * 1024 * 1024;

/**
 * Keeps events in PostgreSQL before they are stored in Redis, for `INTAKE=durable`. The events of all requests that wait are
 * committed together.
 */
export class Intake {
  #waiting: Waiting[] = [];
  #running = 0;
  #isCalled = false;

  constructor(
    private readonly table: IntakeTable,
    private readonly emit: Emit,
    private readonly now: () => number,
  ) {}

  /**
   * Commit events.
   *
   * @returns for each, in their order, what was there before.
   * @throws AppError `history_unavailable` when PostgreSQL does not take them in time. It may have taken them all the same.
   */
  async keep(coming: readonly ComingEvent[]): Promise<readonly IntakeResult[]> {
    return await Promise.all(coming.map((one) => this.#add(toIntake(one))));
  }

  /** Undo `keep`, as far as it added something, for a request that gets an error. Gives whether that worked. */
  async takeBack(coming: readonly ComingEvent[], results: readonly IntakeResult[]): Promise<boolean> {
    const added = coming.filter((_one, i) => results[i]?.kind === 'added');
    try {
      await this.table.remove(added.map(({ event: { accountId, id: eventId } }) => ({ accountId, eventId })));
      return true;
    } catch {
      return false;
    }
  }

  #add(event: IntakeEvent): Promise<IntakeResult> {
    const added = new Promise<IntakeResult>((resolve, reject) => {
      this.#waiting.push({ event, resolve, reject });
    });
    if (!this.#isCalled) {
      this.#isCalled = true;
      atEndOfTurn(() => {
        this.#isCalled = false;
        this.#commitNext();
      });
    }
    return added;
  }

  #commitNext(): void {
    while (this.#running < COMMITS_AT_ONCE && this.#waiting.length > 0) {
      void this.#commit(this.#takeSome());
    }
  }

  #takeSome(): readonly Waiting[] {
    let characters = 0;
    let count = 0;
    for (const { event } of this.#waiting) {
      characters += event.text.length;
      if (count > 0 && (count === MOST_TOGETHER || characters > MOST_CHARACTERS)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #commit(some: readonly Waiting[]): Promise<void> {
    this.#running += 1;
    const startedAt = this.now();
    const announce = (result: 'committed' | 'failed') =>
      this.emit({
        name: 'intake.committed',
        result,
        events: some.length,
        durationMs: this.now() - startedAt,
      });
    try {
      const results = await this.table.add(some.map(({ event }) => event));
      announce('committed');
      for (const [i, { resolve }] of some.entries())
        resolve(results[i] ?? { kind: 'there', known: undefined });
    } catch (error) {
      announce('failed');
      // Those that wait behind it would fail as well, only later.
      const failed = [...some, ...this.#waiting.splice(0)];
      for (const { reject } of failed) reject(intakeUnavailable(error));
    } finally {
      this.#running -= 1;
      this.#commitNext();
    }
  }
}

/** Of an event that was accepted before Redis forgot it: it is not new, or its id belongs to another event. */
type KnownOutcome = { readonly event: AcceptedEvent; readonly isNew: false } | AppError;

/**
 * Store events in Redis once PostgreSQL has them. From then on they are accepted, even if Redis does not answer: a worker finds
 * those that are missing there. If Redis refuses them, they are taken back.
 *
 * @param store stores those of them that it is told to.
 * @returns its result, `undefined` if Redis did not answer; and the outcome of those that were not to be stored.
 * @throws AppError `history_unavailable`; Error of Redis when it refused them.
 */
export async function storeOnceKept<Result>(
  { emit }: { readonly emit: Emit },
  intake: Intake,
  coming: readonly ComingEvent[],
  store: (isStored: (event: AcceptedEvent) => boolean) => Promise<Result>,
): Promise<{ result: Result | undefined; known: ReadonlyMap<AcceptedEvent, KnownOutcome> }> {
  const results = await intake.keep(coming);
  const known = new Map(coming.flatMap(({ event }, i) => knownOf(event, results[i])));
  try {
    return { result: await store((event) => !known.has(event)), known };
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    if (isRefusal(error) && (await intake.takeBack(coming, results))) throw error;
    const accountId = coming[0]?.event.accountId;
    if (accountId) emit({ name: 'intake.left', accountId, count: coming.length, error });
    return { result: undefined, known };
  }
}

// A repeated request has the time of the first one, which its claim in Redis tells. One without that claim has a time of its own.
function knownOf(
  event: AcceptedEvent,
  result: IntakeResult | undefined,
): readonly (readonly [AcceptedEvent, KnownOutcome])[] {
  if (result?.kind !== 'there' || result.known === undefined) return [];
  const { head, digest, isErased } = result.known;
  if (publishedAtOf(head) === publishedAtOf(event)) return [];
  if (isErased || digest !== digestOf(event.body, event.endpointIds)) return [[event, idConflict(event.id)]];
  const { schedule: _schedule, ...atOnce } = event;
  const { acceptedAt, schedule } = head;
  return [[event, { event: { ...atOnce, acceptedAt, ...(schedule && { schedule }) }, isNew: false }]];
}

function toIntake({ event, endpointIds }: ComingEvent): IntakeEvent {
  const { accountId, id: eventId, acceptedAt, body } = event;
  return {
    accountId,
    eventId,
    acceptedAt,
    digest: digestOf(body, event.endpointIds),
    text: encodeEvent(event),
    endpointIds,
  };
}

function intakeUnavailable(cause: unknown): AppError {
  return new AppError(
    'history_unavailable',
    'PostgreSQL, which keeps each event before it is accepted (INTAKE=durable), did not take the event. Send the request again, with the same id if it has one.',
    { cause },
  );
}
