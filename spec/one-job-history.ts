import {
  type Choices,
  type Delivery,
  IDLE_MOVER,
  type Mover,
  type Scene,
  type StepOf,
} from './one-job-state';

type Steps = Readonly<Record<string, StepOf<HistoryScene>>>;

export interface HistoryScene extends Scene {
  readonly choices: Choices;
}

export interface MoverScene extends HistoryScene {
  readonly mover: Mover;
  /** Which of the delivery's movers. */
  readonly at: number;
}

/** Moving what has ended to the history: read, committed there, removed here. Others come between any two. */
export const moverSteps: Readonly<Record<string, StepOf<MoverScene>>> = {
  'reads what has ended': (scene) => {
    const { mover, delivery } = scene;
    const hasEnded = delivery.publish !== 'new' && delivery.end !== 'none' && delivery.log === 'in Redis';
    if (mover.at !== 'idle' || !hasEnded) return undefined;
    return { delivery: withMover(scene, { at: 'read', saw: delivery.end, isLogAsRead: true }) };
  },
  'commits it': (scene) => {
    const { mover, delivery, choices } = scene;
    if (mover.at !== 'read') return undefined;
    // What is on record is merged with what comes.
    const isMerged = choices.without !== 'what the history has already is not overwritten by what is older';
    const isOlder = isMerged && !mover.isLogAsRead && isNewestCommitted(delivery);
    return {
      delivery: {
        ...withMover(scene, { ...mover, at: 'committed' }),
        row: isOlder ? delivery.row : mover.saw,
      },
    };
  },
  'removes it': (scene) => {
    const { mover, delivery, choices } = scene;
    const isCommitted = choices.without !== 'what moves is in the history before it leaves Redis';
    if (mover.at !== (isCommitted ? 'committed' : 'read')) return undefined;
    const { movers } = withMover(scene, IDLE_MOVER);
    if (delivery.log === 'moved' || !mayLeave(scene)) return { delivery: { movers } };
    return { delivery: { movers, log: 'moved' }, appends: true };
  },
};

/** Its claim ends, and it comes again. */
export const moverFaults: Readonly<Record<string, StepOf<MoverScene>>> = {
  crashes: (scene) => (scene.mover.at === 'idle' ? undefined : { delivery: withMover(scene, IDLE_MOVER) }),
};

// Otherwise nobody relies on what is there: Redis has the log, and whoever removes it commits it first.
function isNewestCommitted({ log, movers }: Delivery): boolean {
  return log === 'moved' || movers.some(({ at, isLogAsRead }) => at === 'committed' && isLogAsRead);
}

// By one script.
function mayLeave({ mover, delivery, choices }: MoverScene): boolean {
  const { without } = choices;
  const { job, resend, isPinLeft } = delivery;
  const hasJob = job !== 'absent' && without !== 'what has a job does not leave Redis';
  const hasChanged =
    !mover.isLogAsRead && without !== 'what has changed since it was read does not leave Redis';
  const isPinned = (resend !== 'none' || isPinLeft) && without !== 'what is about to be sent again is pinned';
  return !hasJob && !hasChanged && !isPinned;
}

function withMover({ delivery, at }: MoverScene, mover: Mover): { readonly movers: readonly Mover[] } {
  return { movers: delivery.movers.map((old, index) => (index === at ? mover : old)) };
}

/** Sending what has ended once more: rehydrated from the history first, if it has moved. */
export const resendSteps: Steps = {
  'what is to be sent again is brought back': ({ delivery }) => {
    if (delivery.resend !== 'pinned') return undefined;
    return delivery.log === 'moved'
      ? { delivery: { resend: 'back', log: 'in Redis', end: delivery.row } }
      : { delivery: { resend: 'back' } };
  },
  'its request has a job': ({ delivery }) =>
    delivery.resend === 'back' && delivery.job === 'absent'
      ? { delivery: { resend: 'added', job: 'waiting', isRequested: true } }
      : undefined,
  // Its last job has not ended yet.
  'it can not be sent again now': ({ delivery }) =>
    delivery.resend === 'back' && delivery.job !== 'absent' ? { delivery: { resend: 'none' } } : undefined,
  'its request is recorded': ({ delivery }) => {
    if (delivery.resend !== 'added') return undefined;
    if (!delivery.isRequested) return { delivery: { resend: 'none' } };
    return { delivery: { resend: 'none', ...REOPENED }, appends: true, requests: true };
  },
  'the pin of a crashed one expires': ({ delivery }) =>
    delivery.isPinLeft ? { delivery: { isPinLeft: false } } : undefined,
};

/** A delivery whose request is on record. */
export const REOPENED = { end: 'none', failures: 0, isDue: true, isRequested: false } as const;

export const resendAccidents: Steps = {
  'somebody asks for it to be sent again': ({ delivery }) => {
    const { resend, resendsLeft, publish, end } = delivery;
    if (resend !== 'none' || resendsLeft === 0 || publish === 'new' || end === 'none') return undefined;
    return { delivery: { resend: 'pinned', resendsLeft: resendsLeft - 1 } };
  },
  'who sends it again crashes': ({ delivery }) =>
    delivery.resend === 'none' ? undefined : { delivery: { resend: 'none', isPinLeft: true } },
};
