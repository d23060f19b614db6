import type { DeliveryWithAttempts } from '../history/delivery';
import { deliveryIdOf } from '../model/delivery';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import type { BroughtForward } from './bring-forward';
import { createRedeliver } from './redeliver';
import type { Resent } from './resend';

/** A delivery, and what comes of each try to send it; the last of these comes of all that follow. */
function arrange(
  resent: readonly Resent[],
  broughtForward: readonly BroughtForward[] = ['soon'],
  { isEventThere = true } = {},
) {
  const parts = { endpointId: uniqueEndpointId(), eventId: uniqueEventId() };
  const delivery: DeliveryWithAttempts = {
    hold: undefined,
    lastOutcome: undefined,
    lastResponseStatus: undefined,
    ...parts,
    id: deliveryIdOf(parts),
    type: 'keyword.quick_win',
    status: 'pending',
    attemptCount: 1,
    attempts: [],
    nextAttemptAt: undefined,
    createdAt: 0,
  };
  const head = { type: delivery.type, acceptedAt: 0, isAimed: false };
  const tries = { resend: 0, bringForward: 0 };
  const redeliver = createRedeliver({
    deliveries: { read: async () => delivery },
    eventStore: { findHead: async () => (isEventThere ? head : undefined) },
    resend: async () => resent[Math.min(tries.resend++, resent.length - 1)] ?? 'resent',
    bringForward: async () =>
      broughtForward[Math.min(tries.bringForward++, broughtForward.length - 1)] ?? 'soon',
  });
  return { delivery, tries, redeliver: () => redeliver(uniqueAccountId(), delivery.id, 'rdl_1') };
}

it.each<[string, Resent[], BroughtForward[]]>([
  ['the job of its last attempt has ended', ['ending', 'ending', 'resent'], ['soon']],
  ['the job of its last attempt has been put back', ['on_its_way'], ['ending', 'ending', 'soon']],
])('waits until %s', async (_what, resent, broughtForward) => {
  const { redeliver, delivery, tries } = arrange(resent, broughtForward);
  expect(await redeliver()).toEqual(delivery);
  expect(tries.resend).toBe(3);
});

it.each<[Resent[], BroughtForward[]]>([
  [['full'], ['soon']],
  [['on_its_way'], ['full']],
])('says that the record is full: %j, %j', async (resent, broughtForward) => {
  const { redeliver } = arrange(resent, broughtForward);
  await expect(redeliver()).rejects.toMatchObject({ code: 'limit_reached' });
});

it.each<[Resent[], BroughtForward[]]>([
  [['ending'], ['soon']],
  [['on_its_way'], ['ending']],
])('gives up in the end, so that whoever asked can ask again: %j, %j', async (resent, broughtForward) => {
  const { redeliver } = arrange(resent, broughtForward);
  await expect(redeliver()).rejects.toMatchObject({ code: 'conflict' });
});

it('sends nothing when its event is no longer kept, though what became of it is', async () => {
  const { redeliver, tries } = arrange(['resent'], ['soon'], { isEventThere: false });
  await expect(redeliver()).rejects.toMatchObject({ code: 'not_found' });
  expect(tries.resend).toBe(0);
});
