import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { Clock } from '../kernel/clock';
import type { Mark } from '../kernel/redis-timeline';
import type { Endpoint } from '../model/endpoint';
import type { EventId } from '../model/event';
import {
  hasEnded,
  type Replay,
  type ReplayEndStatus,
  type ReplayOrder,
  type ReplayProgress,
} from '../model/replay';
import type { Emit } from '../model/signal';
import { announceReplayEnd } from './cancel-replay';
import type { ChooseEvents, Judged } from './choose-events';
import type { ReplayStore } from './redis-replay-store';
import type { ResendAll, ResendInput } from './resend';

export interface StepReplayDeps {
  readonly replayStore: Pick<ReplayStore, 'find' | 'create' | 'save'>;
  readonly endpointStore: Pick<EndpointStore, 'find'>;
  readonly chooseEvents: ChooseEvents;
  readonly resendAll: ResendAll;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** What is to become of the replay's job. */
export type StepResult = { readonly kind: 'done' } | { readonly kind: 'again'; readonly delayMs: number };

const DONE: StepResult = { kind: 'done' };
const AT_ONCE: StepResult = { kind: 'again', delayMs: 0 };

// Events looked at in one step. Counting is all reading; a step of sending looks at more than it sends, or a slow replay
// of which little is chosen would take steps without end.
const COUNTED_AT_ONCE = 500;
const LOOKED_AT = 100;
// A delivery that has just ended has its job still, for milliseconds or until a dead worker's jobs are taken over.
const ENDING_DELAY_MS = 1_000;
// A replay sends twice a second, at most as many as it looks at: it comes in small doses, and is soon cancelled.
const STEPS_A_SECOND = 2;

/**
 * One step of a replay: counts some of the events in its range, or, once all are counted, sends some. How far it is, is
 * saved at the end of each step. A step that broke off is done again, and sends nothing twice: each delivery has the
 * replay's request on record.
 */
export function createStepReplay(deps: StepReplayDeps) {
  const { replayStore, endpointStore, chooseEvents, resendAll, clock, emit } = deps;

  return async function stepReplay(order: ReplayOrder): Promise<StepResult> {
    const endpoint = await endpointStore.find(order.accountId, order.endpointId);
    // What is not on record stays off it when its webhook is gone: its account may have been erased.
    const replay = endpoint ? await findOrCreate(order) : await replayStore.find(order.id);
    if (!replay || hasEnded(replay)) return DONE;
    if (!endpoint) return await end(replay, 'failed', 'The webhook was deleted.');
    return replay.status === 'counting' ? await count(replay, endpoint) : await send(replay, endpoint);
  };

  // It is queued first: whoever asked for it may have died before it was on record.
  async function findOrCreate(order: ReplayOrder): Promise<Replay | undefined> {
    const replay = await replayStore.find(order.id);
    if (replay) return replay;
    await replayStore.create(order);
    return await replayStore.find(order.id);
  }

  async function count(replay: Replay, endpoint: Endpoint): Promise<StepResult> {
    const judged = await chooseEvents(replay, endpoint, COUNTED_AT_ONCE);
    const found = replay.found + chosenOf(judged).length;
    const erased = replay.erased + judged.filter(({ isErased }) => isErased).length;
    if (judged.length === COUNTED_AT_ONCE) {
      return await goOn(
        replay,
        { status: 'counting', found, erased, cursor: judged.at(-1)?.member },
        AT_ONCE,
      );
    }
    if (replay.isDryRun) return await end({ ...replay, found, erased }, 'done');
    return await goOn(replay, { status: 'running', found, erased, cursor: undefined }, AT_ONCE);
  }

  async function send(replay: Replay, endpoint: Endpoint): Promise<StepResult> {
    const startedAt = clock();
    const most = Math.min(Math.ceil(replay.rate / STEPS_A_SECOND), LOOKED_AT);
    const judged = await chooseEvents(replay, endpoint, LOOKED_AT, most);
    const dose = chosenOf(judged).slice(0, most);
    const resent = await resendAll(dose.map((member) => toResend(replay, member)));
    const ending = resent.indexOf('ending');
    const results = ending < 0 ? resent : resent.slice(0, ending);
    const enqueued = replay.enqueued + results.filter((result) => result === 'resent').length;

    // On from there soon: those behind it that are sent already are counted then.
    if (ending >= 0) {
      const cursor = ending === 0 ? replay.cursor : dose[ending - 1];
      return await goOn(replay, { enqueued, cursor }, { kind: 'again', delayMs: ENDING_DELAY_MS });
    }

    const isDoseAll = dose.length === chosenOf(judged).length;
    if (isDoseAll && judged.length < LOOKED_AT) return await end({ ...replay, enqueued }, 'done');
    const cursor = isDoseAll ? judged.at(-1)?.member : dose.at(-1);
    const delayMs = Math.max(Math.ceil((dose.length / replay.rate) * 1_000) - (clock() - startedAt), 0);
    return await goOn(replay, { enqueued, cursor }, { kind: 'again', delayMs });
  }

  // Over, if it was cancelled meanwhile.
  async function goOn(replay: Replay, change: Change, result: StepResult): Promise<StepResult> {
    if (!(await replayStore.save(replay.id, progressOf(replay, change)))) return DONE;
    const { id: replayId, accountId, endpointId } = replay;
    emit({ name: 'replay.progressed', replayId, accountId, endpointId });
    return result;
  }

  async function end(replay: Replay, status: ReplayEndStatus, error?: string): Promise<StepResult> {
    const change = {
      status,
      cursor: undefined,
      finishedAt: clock(),
      ...(error === undefined ? {} : { error }),
    };
    const progress = progressOf(replay, change);
    if (await replayStore.save(replay.id, progress)) announceReplayEnd(emit, { ...replay, ...progress });
    return DONE;
  }
}

export type StepReplay = ReturnType<typeof createStepReplay>;

type Change = Partial<Omit<ReplayProgress, 'cursor'>> & { readonly cursor: Mark | undefined };

function progressOf(
  { status, found, enqueued, erased }: Replay,
  { cursor, ...change }: Change,
): ReplayProgress {
  return { status, found, enqueued, erased, ...change, ...(cursor === undefined ? {} : { cursor }) };
}

function chosenOf(judged: readonly Judged[]): Mark[] {
  return judged.filter(({ isChosen }) => isChosen).map(({ member }) => member);
}

function toResend({ id, accountId, endpointId }: Replay, { id: eventId, at }: Mark): ResendInput {
  return {
    accountId,
    endpointId,
    eventId: eventId as EventId,
    acceptedAt: at,
    trigger: 'replay',
    requestId: id,
  };
}
