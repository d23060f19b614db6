import type { Recorded } from '../accounts/audit/redis-recorded-change';
import type { AccountId } from '../domain/account';
import type { Act } from '../domain/audit';
import { type Endpoint, type EndpointRef, placeInOrder } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { RecordForm } from '../domain/record-form';
import {
  hasEnded,
  type Replay,
  type ReplayEndStatus,
  type ReplayId,
  type ReplayOrder,
  type ReplayProgress,
} from '../domain/replay';
import type { Emit } from '../domain/signal';
import type { BesideLanes, BesidePlace } from '../endpoints/admission/redis-beside-lanes';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { requireEndpoint } from '../endpoints/resolve-endpoints';
import type { WholeHistory } from '../history/whole-history';
import { AppError } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import type { Atomic } from '../platform/redis-atomic';
import type { Mark } from '../platform/redis-timeline';
import type { ReplayQueue } from '../queue/bullmq-work-queues';
import { chooseEvents, type EventChoice } from './choose-events';
import type { Redelivery, RedeliveryRequest } from './redelivery';
import type { ReplayPage, ReplayStore } from './redis-replay-store';

export interface ReplaysParts {
  readonly replayStore: ReplayStore;
  readonly replayQueue: ReplayQueue;
  readonly endpointStore: EndpointStore;
  readonly besideLanes: BesideLanes;
  readonly history: WholeHistory;
  readonly redelivery: Redelivery;
  /** It runs scripts on the Redis of these stores. */
  readonly atomic: Atomic;
  readonly clock: Clock;
  readonly emit: Emit;
  /** `former`: processes of the version before run. They can't read replays with the mode `pending`. */
  readonly recordForm?: RecordForm | undefined;
}

/** Each one reads all events of its range several times, dry runs as well. */
const MOST_RUNNING = 2;

export type NewReplay = Omit<ReplayOrder, 'accountId' | 'endpointId'>;

/** What happens to the replay's job next. */
export type StepResult = { readonly kind: 'done' } | { readonly kind: 'again'; readonly delayMs: number };

const DONE: StepResult = { kind: 'done' };
const AT_ONCE: StepResult = { kind: 'again', delayMs: 0 };

// Events read in one step. Counting only reads. A step of sending reads more than it sends: otherwise a slow
// replay that chooses little would take endless steps.
const COUNTED_AT_ONCE = 500;
const LOOKED_AT = 100;
// A delivery that has just ended keeps its job for milliseconds, or until a dead worker's jobs are taken
// over.
const ENDING_DELAY_MS = 1_000;
// A replay sends twice a second, at most as many as it scans: a few at a time, so that it can be cancelled
// soon.
const STEPS_A_SECOND = 2;

/** Send the events of a time range to an endpoint once more. */
export class Replays {
  constructor(private readonly parts: ReplaysParts) {}

  /**
   * Create a replay of an endpoint's events. Creating one under the same id again gives the existing one.
   *
   * @throws AppError `not_found`; `conflict` for a mode that other processes can't read; `replays_running` when two replays have not ended yet.
   */
  async create(accountId: AccountId, ref: EndpointRef, input: NewReplay, act?: Act): Promise<Replay> {
    const { replayStore, replayQueue, clock, recordForm } = this.parts;
    if (input.mode === 'pending' && recordForm === 'former') throw notYet();
    const order = { ...input, accountId, endpointId: await requireEndpoint(this.parts, accountId, ref) };
    if (!(await replayStore.admit(order, MOST_RUNNING, clock(), act))) throw tooManyRunning();
    // In this order: the job records the replay in any case, but nothing would queue a replay that is only
    // recorded.
    await replayQueue.add(order);
    await replayStore.create(order);
    return await this.read(accountId, order.id);
  }

  /** @throws AppError `not_found`, also for another account's. */
  async read(accountId: AccountId, id: ReplayId): Promise<Replay> {
    const replay = await this.parts.replayStore.find(id);
    if (replay?.accountId !== accountId) throw new AppError('not_found', 'There is no replay with this id.');
    return replay;
  }

  /** List an endpoint's replays, newest first. @throws AppError `not_found`. */
  async list(accountId: AccountId, ref: EndpointRef, limit: number, before?: string): Promise<ReplayPage> {
    const endpointId = await requireEndpoint(this.parts, accountId, ref);
    return await this.parts.replayStore.list(endpointId, limit, before);
  }

  /**
   * Cancel a replay: deliveries that are enqueued by then are sent, and no further ones. A replay that has
   * ended stays as it is.
   *
   * @throws AppError `not_found`.
   */
  async cancel(accountId: AccountId, id: ReplayId, act?: Act): Promise<void> {
    await this.read(accountId, id);
    await this.end(id, act && { act, accountId, targetId: id });
  }

  /** End a replay of any account. A replay that has ended, or does not exist, stays as it is. */
  async end(id: ReplayId, recorded?: Recorded): Promise<void> {
    const { replayStore, clock } = this.parts;
    const replay = await replayStore.find(id);
    if (!replay || hasEnded(replay)) return;
    const { found, enqueued, erased } = replay;
    const ended: ReplayProgress = { status: 'cancelled', found, enqueued, erased, finishedAt: clock() };
    if (await replayStore.save(id, ended, recorded)) this.#announceEnd({ ...replay, ...ended });
  }

  /**
   * Take one step of a replay: count some of the events in its range or, once all are counted, send some. The
   * progress is saved after each step. A step that broke off is repeated and sends nothing twice: each
   * delivery's log has the replay's request.
   *
   * @throws AppError `history_unavailable` when events of its range have moved, and can't be read.
   */
  async step(order: ReplayOrder): Promise<StepResult> {
    const { endpointStore, replayStore } = this.parts;
    const endpoint = await endpointStore.find(order.accountId, order.endpointId);
    // A replay that is not recorded stays so when its webhook is gone: its account may have been erased.
    const replay = endpoint ? await this.#findOrCreate(order) : await replayStore.find(order.id);
    if (!replay || hasEnded(replay)) return DONE;
    if (!endpoint) return await this.#finish(replay, 'failed', 'The webhook was deleted.');
    return replay.status === 'counting'
      ? await this.#count(replay, endpoint)
      : await this.#send(replay, endpoint);
  }

  // The job is queued before the record is written: the process that queued it may have died in between.
  async #findOrCreate(order: ReplayOrder): Promise<Replay | undefined> {
    const { replayStore } = this.parts;
    const replay = await replayStore.find(order.id);
    if (replay) return replay;
    await replayStore.create(order);
    return await replayStore.find(order.id);
  }

  async #count(replay: Replay, endpoint: Endpoint): Promise<StepResult> {
    const { choices, nextCursor } = await chooseEvents(this.parts.history, replay, endpoint, COUNTED_AT_ONCE);
    const found = replay.found + chosenOf(choices).length;
    const erased = replay.erased + choices.filter(({ isErased }) => isErased).length;
    if (nextCursor !== undefined) {
      return await this.#goOn(replay, { status: 'counting', found, erased, cursor: nextCursor }, AT_ONCE);
    }
    if (replay.isDryRun) return await this.#finish({ ...replay, found, erased }, 'done');
    return await this.#goOn(replay, { status: 'running', found, erased, cursor: undefined }, AT_ONCE);
  }

  async #send(replay: Replay, endpoint: Endpoint): Promise<StepResult> {
    const { replayStore, history, besideLanes, redelivery, atomic, clock } = this.parts;
    const startedAt = clock();
    const most = Math.min(Math.ceil(replay.rate / STEPS_A_SECOND), LOOKED_AT);
    const { choices, nextCursor } = await chooseEvents(history, replay, endpoint, LOOKED_AT, most);
    const chosen = chosenOf(choices);
    const batch = chosen.slice(0, most);
    const positions = batch.map(({ position }) => position);
    // First: workers run these jobs at once, and would begin with any of them. A place that is left without a job,
    // should this process die in between, is removed when the lanes are looked at.
    const inLanes = batch.map(({ group }) => redelivery.placeInLane(endpoint, group));
    // One that waits for a retry has its place.
    const isPending = replay.mode === 'pending';
    const places = batch.flatMap((each, i) =>
      isPending || inLanes[i]?.isInLane ? [] : (placeOf(endpoint, each) ?? []),
    );
    await atomic([besideLanes.join(replay.endpointId, places)]);
    const requests = positions.map((position, i) => ({ ...requestOf(replay, position), ...inLanes[i] }));
    const outcomes = isPending
      ? await redelivery.bringAllForward(requests)
      : await redelivery.requestAll(replay.accountId, requests);
    const ending = outcomes.indexOf('ending');
    const counted = ending < 0 ? outcomes : outcomes.slice(0, ending);
    const sent = positions.filter((_, i) => counted[i] === 'requested');
    // Before the progress: a step that broke off in between is done again.
    await replayStore.noteSent(replay, sent);
    const enqueued = replay.enqueued + sent.length;

    // Go on soon: deliveries that are sent by then are counted then.
    if (ending >= 0) {
      const cursor = ending === 0 ? replay.cursor : positions[ending - 1];
      return await this.#goOn(replay, { enqueued, cursor }, { kind: 'again', delayMs: ENDING_DELAY_MS });
    }

    const areAll = batch.length === chosen.length;
    if (areAll && nextCursor === undefined) return await this.#finish({ ...replay, enqueued }, 'done');
    const cursor = areAll ? nextCursor : positions.at(-1);
    const delayMs = Math.max(Math.ceil((batch.length / replay.rate) * 1_000) - (clock() - startedAt), 0);
    return await this.#goOn(replay, { enqueued, cursor }, { kind: 'again', delayMs });
  }

  // Stop, if it was cancelled meanwhile.
  async #goOn(replay: Replay, change: Change, result: StepResult): Promise<StepResult> {
    const { replayStore, emit } = this.parts;
    if (!(await replayStore.save(replay.id, progressOf(replay, change)))) return DONE;
    const { id: replayId, accountId, endpointId } = replay;
    emit({ name: 'replay.progressed', replayId, accountId, endpointId });
    return result;
  }

  async #finish(replay: Replay, status: ReplayEndStatus, error?: string): Promise<StepResult> {
    const { replayStore, clock } = this.parts;
    const change = {
      status,
      cursor: undefined,
      finishedAt: clock(),
      ...(error === undefined ? {} : { error }),
    };
    const progress = progressOf(replay, change);
    if (await replayStore.save(replay.id, progress)) this.#announceEnd({ ...replay, ...progress });
    return DONE;
  }

  #announceEnd({ id, accountId, endpointId, mode, found, enqueued, status }: Replay): void {
    if (status === 'counting' || status === 'running') return;
    const { emit } = this.parts;
    emit({ name: 'replay.ended', replayId: id, accountId, endpointId, mode, status, found, enqueued });
  }
}

function notYet(): AppError {
  return new AppError(
    'conflict',
    'The mode "pending" can be used once the upgrade of the service has ended: processes of the version before don\'t know it.',
  );
}

function tooManyRunning(): AppError {
  return new AppError(
    'replays_running',
    `An account may have ${MOST_RUNNING} replays at a time, dry runs included. Wait for one to end, or cancel it.`,
  );
}

type Change = Partial<Omit<ReplayProgress, 'cursor'>> & { readonly cursor: Mark | undefined };

function progressOf(
  { status, found, enqueued, erased }: Replay,
  { cursor, ...change }: Change,
): ReplayProgress {
  return { status, found, enqueued, erased, ...change, ...(cursor === undefined ? {} : { cursor }) };
}

function chosenOf(choices: readonly EventChoice[]): readonly EventChoice[] {
  return choices.filter(({ isChosen }) => isChosen);
}

/** Where it waits for those before it. Absent: it waits for none, or this replay has requested it already. */
function placeOf(endpoint: Endpoint, { position, group, isRequested }: EventChoice): BesidePlace | undefined {
  const eventId = position.id as EventId;
  const place = isRequested ? undefined : placeInOrder(endpoint, group);
  return place && { eventId, acceptedAt: position.at, ...place };
}

function requestOf({ id, accountId, endpointId }: Replay, { id: eventId, at }: Mark): RedeliveryRequest {
  return {
    accountId,
    endpointId,
    eventId: eventId as EventId,
    acceptedAt: at,
    trigger: 'replay',
    requestId: id,
  };
}
