import type { Choices, Delivery, Scene, State, StepOf } from './one-job-state';
import { added, promoted, putBackIfStalled } from './queued-job';

type Steps<S> = Readonly<Record<string, StepOf<S>>>;

/** What happens to a delivery without a run of it, and can be counted on. */
export const deliverySteps: Steps<Scene> = {
  'fan-out adds the job': ({ delivery }) =>
    delivery.publish === 'new' ? addedBy(delivery, 'added') : undefined,
  'publish is acknowledged': ({ delivery }) =>
    delivery.publish === 'added' ? { delivery: { publish: 'acknowledged' } } : undefined,
  'the stalled check puts the job back': ({ delivery }) =>
    delivery.job === 'active:expired' ? { delivery: { job: putBackIfStalled(delivery.job) } } : undefined,
  'the lock of the crashed run expires': ({ delivery }) =>
    delivery.job === 'active:crashed' ? { delivery: { job: 'active:expired' } } : undefined,
  'the time of the next attempt comes': ({ delivery }) =>
    delivery.isDue ? undefined : { delivery: { isDue: true } },
  'the retry is due': ({ delivery }) =>
    delivery.job === 'delayed:retry' && delivery.isDue ? { delivery: { job: 'waiting' } } : undefined,
};

/** What may happen to it, and nothing may rely on. */
export const deliveryAccidents: Steps<Scene & { readonly choices: Choices }> = {
  'fan-out is repeated': ({ delivery, choices }) => {
    if (delivery.publish === 'new' || delivery.job !== 'absent') return undefined;
    const isChecked = choices.without !== 'what has moved is not fanned out again';
    return isChecked && delivery.log === 'moved' ? undefined : addedBy(delivery, delivery.publish);
  },
  'it is brought forward': ({ delivery }) => ({ delivery: { job: promoted(delivery.job) } }),
  'it is cancelled': ({ delivery }) =>
    delivery.publish !== 'new' && delivery.end === 'none'
      ? { delivery: { end: 'cancelled', isDue: true }, appends: true }
      : undefined,
  // By one script, which lists it, delays its job and asks for a look.
  'it is held together with another one': ({ delivery }) =>
    delivery.job === 'waiting'
      ? { delivery: { job: 'delayed:held', isListed: true }, isWakeUpDue: true }
      : undefined,
  'it was held for as long as is allowed': ({ delivery }) =>
    delivery.job === 'delayed:held' ? { delivery: { job: 'waiting' } } : undefined,
};

function addedBy({ job }: Delivery, publish: Delivery['publish']): ReturnType<StepOf<Scene>> {
  return { delivery: { job: added(job), publish } };
}

/** Of the endpoint, and of whoever looks at those that are held there. */
export const endpointSteps: Steps<State & { readonly choices: Choices }> = {
  'the gate opens': ({ isGateOpen }) => (isGateOpen ? undefined : { isGateOpen: true }),
  'the sweep claims the endpoint': ({ look, isWakeUpDue, isGateOpen }) =>
    look === 'none' && isWakeUpDue ? { look: isGateOpen ? 'saw open' : 'saw closed' } : undefined,
  'the look finds the gate closed': ({ look, deliveries, choices }) =>
    look === 'saw closed'
      ? {
          look: 'none',
          isWakeUpDue:
            choices.without !== 'a look at a closed gate asks for another one' && deliveries.some(isListed),
        }
      : undefined,
  'the look finds nothing held': ({ look, deliveries }) =>
    look === 'saw open' && !deliveries.some(isListed) ? { look: 'none', isWakeUpDue: false } : undefined,
};

export const endpointAccidents: Steps<State> = {
  'the gate closes': ({ isGateOpen }) => (isGateOpen ? { isGateOpen: false } : undefined),
  'somebody asks for a look': ({ isWakeUpDue }) => (isWakeUpDue ? undefined : { isWakeUpDue: true }),
  'somebody looks unasked': ({ look, isGateOpen, isWakeUpDue }) =>
    look === 'none' && !isWakeUpDue ? { look: isGateOpen ? 'saw open' : 'saw closed' } : undefined,
  'who looks crashes': ({ look }) => (look === 'none' ? undefined : { look: 'none' }),
};

/** The script that puts one of those that are held back onto the queue. */
export const releaseSteps: Steps<Scene & { readonly choices: Choices }> = {
  'the look puts it back': ({ look, deliveries, delivery, choices }) => {
    if (look !== 'saw open' || !delivery.isListed) return undefined;
    const isLeft =
      delivery.job.startsWith('active:') && choices.without !== 'an entry stays while its job is active';
    return {
      look: 'none',
      delivery: { job: promoted(delivery.job), isListed: isLeft },
      isWakeUpDue: isLeft || deliveries.filter(isListed).length > 1,
    };
  },
};

function isListed(delivery: Delivery): boolean {
  return delivery.isListed;
}
