import type { Taken, Watches } from './explore';
import type { Delivery, Run, State } from './one-job-state';

/** What must never be seen, however many faults there are. */
export const forbidden: Watches<State> = {
  'an acknowledged delivery without a job': ({ after }) =>
    after.deliveries.some(
      ({ publish, end, job }) => publish === 'acknowledged' && end === 'none' && job === 'absent',
    ),
  'a held delivery that no sweep finds': ({ after }) =>
    after.deliveries.some(({ job, isListed }) => job === 'delayed:held' && !(isListed && after.isWakeUpDue)),
  'an entry at which nobody will look': ({ after }) =>
    after.deliveries.some(({ isListed }) => isListed && !after.isWakeUpDue),
  'an entry gone while its job is neither on the queue nor gone': ({ before, after }) =>
    after.deliveries.some(
      ({ job, isListed }, index) =>
        before.deliveries[index]?.isListed && !isListed && job !== 'waiting' && job !== 'absent',
    ),
  'a job gone before its end is on record': ({ before, after }) =>
    after.deliveries.some(
      ({ job, end }, index) => before.deliveries[index]?.job !== job && job === 'absent' && end === 'none',
    ),
  'a request that starts beside one whose run has its lock': ({ before, after }) =>
    startsOf({ before, after }).some(({ of }) =>
      before.runs.some((run, at) => run.of === of && isSendingWithLock(before, run, at + 1)),
    ),
  'a request that starts after an end that its run has loaded': (taken) =>
    startsOf(taken).some(({ of, isLogAsLoaded }) => isLogAsLoaded && endOf(taken.before, of) !== 'none'),
  'an end that was taken back': ({ before, after }) =>
    before.deliveries.some(({ end, isRequested }, index) => {
      const next = endOf(after, index);
      const isReopened = isRequested && after.deliveries[index]?.isRequested === false;
      return end !== 'none' && next !== end && next !== 'delivered' && !isReopened;
    }),
  'an acknowledged request that an earlier attempt ends': ({ before, after }) =>
    before.runs.some(
      ({ at, of, isOfRound }, index) =>
        at === 'succeeded' &&
        after.runs[index]?.at === 'ended' &&
        !isOfRound &&
        endOf(before, of) === 'none' &&
        endOf(after, of) !== 'none',
    ),
  'a request for a delivery whose record has moved': (taken) =>
    startsOf(taken).some(({ of }) => taken.before.deliveries[of]?.log === 'moved'),
  'an end that is gone from Redis, and that the history has not': ({ after }) =>
    after.deliveries.some(({ log, end, row }) => log === 'moved' && row !== end),
};

/** What at-least-once delivery allows; the test says when. */
export const possible: Watches<State> = {
  'two requests in flight': (taken) =>
    startsOf(taken).some(({ of }) => taken.before.runs.some((run) => run.at === 'sending' && run.of === of)),
  'a request that starts after a recorded success': (taken) =>
    startsOf(taken).some(({ of }) => endOf(taken.before, of) === 'delivered'),
  'a request that starts after any recorded end': (taken) =>
    startsOf(taken).some(({ of }) => endOf(taken.before, of) !== 'none'),
  'a run that is admitted after any recorded end': ({ before, after }) =>
    before.runs.some(
      ({ at, of }, index) =>
        at === 'loaded' && after.runs[index]?.at === 'admitted' && endOf(before, of) !== 'none',
    ),
  'a delivery that is held': ({ after }) => after.deliveries.some(({ job }) => job === 'delayed:held'),
  'a delivery that has moved': ({ after }) => after.deliveries.some(({ log }) => log === 'moved'),
  'a delivery that has moved and is sent again': (taken) =>
    startsOf(taken).some(({ of }) => taken.before.deliveries[of]?.row !== 'none'),
  'a delivery that succeeds': ({ after }) => after.deliveries.some(({ end }) => end === 'delivered'),
};

/** The runs whose request starts with this step. */
function startsOf({ before, after }: Taken<State>): readonly Run[] {
  return before.runs.filter(({ at }, index) => at !== 'sending' && after.runs[index]?.at === 'sending');
}

function endOf({ deliveries }: State, index: number): Delivery['end'] | undefined {
  return deliveries[index]?.end;
}

function isSendingWithLock({ deliveries }: State, { at, of }: Run, number: number): boolean {
  return at === 'sending' && deliveries[of]?.job === `active:${number}`;
}
