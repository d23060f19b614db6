import { REOPENED } from './one-job-history';
import {
  type Choices,
  type Delivery,
  IDLE,
  type Place,
  type Run,
  type RunScene,
  type StepOf,
} from './one-job-state';
import { isLockedBy, movedBy, type QueuedJob } from './queued-job';

/** A run that has lost its lock goes on as if it had it; only its own clock keeps it from sending. */
export const runSteps: Readonly<Record<string, StepOf<RunScene>>> = {
  'fetches the job': ({ run, number, delivery, index }) =>
    run.at === 'idle' && delivery.job === 'waiting'
      ? { run: { ...IDLE, at: 'fetched', of: index }, delivery: { job: `active:${number}` } }
      : undefined,
  'loads the log': ({ run, delivery }) =>
    run.at === 'fetched' && !delivery.isRequested ? { run: { ...run, at: afterLoad(delivery) } } : undefined,
  // It was added before that: then it reads the log again.
  'records the request of its job': ({ run, delivery }) =>
    run.at === 'fetched' && delivery.isRequested
      ? { delivery: REOPENED, appends: true, requests: true }
      : undefined,
  'is admitted': ({ run, isGateOpen, choices }) =>
    run.at === 'loaded' && isGateOpen && (run.isLogAsLoaded || choices.admission === 'reads the gate')
      ? { run: { ...run, at: 'admitted' } }
      : undefined,
  'is not admitted, as the log has changed': ({ run, choices }) =>
    run.at === 'loaded' && !run.isLogAsLoaded && choices.admission === 'reads the gate and the log'
      ? { run: { ...run, at: 'fetched', isLogAsLoaded: true, isOfRound: true } }
      : undefined,
  'is not admitted': ({ run, isGateOpen, choices }) => {
    if (run.at !== 'loaded' || isGateOpen) return undefined;
    return { run: { ...IDLE, of: run.of, at: isListedFirst(choices) ? 'refused' : 'listed' } };
  },
  'lists the delivery and asks for a look': ({ run, isWakeUpDue, choices }) => {
    if (run.at !== 'refused') return undefined;
    const asks = choices.without !== 'who lists a delivery asks for a look';
    return {
      run: isListedFirst(choices) ? { ...run, at: 'listed' } : IDLE,
      delivery: { isListed: true },
      isWakeUpDue: isWakeUpDue || asks,
    };
  },
  'puts its job off as held': (scene) => {
    if (scene.run.at !== 'listed') return undefined;
    const run: Run = isListedFirst(scene.choices) ? IDLE : { ...scene.run, at: 'refused' };
    return { run, delivery: { job: moved(scene, 'delayed:held') } };
  },
  'starts its request': ({ run, number, delivery, choices }) =>
    run.at === 'admitted' &&
    (isLockedBy(number, delivery.job) || choices.without === 'only the owner of the lock starts a request')
      ? { run: { ...run, at: 'sending' } }
      : undefined,
  'lets go, as its time is up': ({ run, number, delivery }) =>
    run.at === 'admitted' && !isLockedBy(number, delivery.job) ? { run: IDLE } : undefined,
  'is answered with success': ({ run }) =>
    run.at === 'sending' ? { run: { ...run, at: 'succeeded' } } : undefined,
  'is answered with failure': ({ run }) =>
    run.at === 'sending' ? { run: { ...run, at: 'failed' } } : undefined,
  'records its success': (scene) =>
    scene.run.at === 'succeeded'
      ? {
          run: { ...IDLE, of: scene.run.of, at: 'ended' },
          // What was sent by a run that has lost its lock is on record as well, in a new log if it has moved.
          delivery: { log: 'in Redis', ...withSuccess(scene) },
          appends: true,
        }
      : undefined,
  'records its failure': (scene) => {
    if (scene.run.at !== 'failed') return undefined;
    const recorded = withFailure(scene);
    const at = { ...scene.delivery, ...recorded }.end === 'none' ? 'retrying' : 'ended';
    return { run: { ...IDLE, of: scene.run.of, at }, delivery: recorded, appends: true };
  },
  'puts its job off for a retry': (scene) =>
    scene.run.at === 'retrying' ? { run: IDLE, delivery: { job: moved(scene, 'delayed:retry') } } : undefined,
  'ends its job': (scene) =>
    scene.run.at === 'ended' ? { run: IDLE, delivery: { job: moved(scene, 'absent') } } : undefined,
};

/** A stall is none by itself: any step may come late. It is one once the lock has expired meanwhile. */
export const runFaults: Readonly<Record<string, StepOf<RunScene>>> = {
  crashes: (scene) =>
    scene.run.at !== 'idle' && scene.faultsLeft > 0
      ? {
          run: IDLE,
          delivery: { job: movedBy(scene.number, scene.delivery.job, 'active:crashed') },
          faultsLeft: scene.faultsLeft - 1,
        }
      : undefined,
  'loses its lock': ({ number, delivery, faultsLeft }) =>
    isLockedBy(number, delivery.job) && faultsLeft > 0
      ? { delivery: { job: 'active:expired' }, faultsLeft: faultsLeft - 1 }
      : undefined,
};

function isListedFirst({ without }: Choices): boolean {
  return without !== 'a delivery is listed before it is put off';
}

// Without a log, it was never tried: whether there is one in the history is not asked.
function afterLoad({ end, isDue, log }: Delivery): Place {
  if (end !== 'none' && log === 'in Redis') return 'ended';
  return isDue ? 'loaded' : 'retrying';
}

// What was asked for since is still to be sent.
function withSuccess({ run, delivery, choices }: RunScene): Partial<Delivery> {
  const isChecked = choices.without !== 'a success ends its own round only';
  const isOpen = delivery.end === 'none';
  return isChecked && isOpen && !run.isOfRound ? {} : { end: 'delivered', isDue: true };
}

// Another run's append came first: this attempt is on record as a late one, and decides nothing.
function withFailure({ run, delivery, choices }: RunScene): Partial<Delivery> {
  const isChecked = choices.without !== 'a recorded end stays';
  if (isChecked && !run.isLogAsLoaded) return {};
  const failures = Math.min(delivery.failures + 1, choices.bounds.attempts);
  return failures === choices.bounds.attempts
    ? { failures, end: 'exhausted', isDue: true }
    : { failures, end: 'none', isDue: false };
}

function moved({ number, delivery, choices }: RunScene, to: QueuedJob): QueuedJob {
  const isChecked = choices.without !== 'a job is moved by the owner of its lock only';
  return isChecked || delivery.job === 'absent' ? movedBy(number, delivery.job, to) : to;
}
