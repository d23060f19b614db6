import { setTimeout as wait } from 'node:timers/promises';
import type { Receivers } from '../receivers';
import { during, type FaultKind } from './fault-kind';

const FLEET_DOWN_MS = 120_000;

/** What befalls the receivers, all of them. */
export const receiverFaults: readonly FaultKind[] = [
  {
    name: 'receiver-reset',
    what: 'every receiver breaks all connections for a second or two',
    mayRepeat: true,
    usualCount: 20,
    inject: async ({ receivers, random }) =>
      await during('receivers', () => switchOn(receivers, 'reset', random.between(1_000, 2_000))),
  },
  {
    name: 'receiver-stall',
    what: 'every receiver keeps its responses back for two to five seconds',
    mayRepeat: false,
    usualCount: 16,
    inject: async ({ receivers, random }) =>
      await during('receivers', () => switchOn(receivers, 'stall', random.between(2_000, 5_000))),
  },
  {
    name: 'receivers-down-2m',
    what: 'no receiver responds for two minutes, and then all of them at once',
    mayRepeat: true,
    usualCount: 1,
    isLong: true,
    inject: async ({ receivers }) =>
      await during('receivers', () => switchOn(receivers, 'reset', FLEET_DOWN_MS)),
  },
];

async function switchOn(receivers: Receivers, kind: 'reset' | 'stall', forMs: number): Promise<void> {
  receivers.send({ kind, isOn: true });
  await wait(forMs);
  receivers.send({ kind, isOn: false });
}
