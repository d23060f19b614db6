import { setTimeout as wait } from 'node:timers/promises';
import { clockFaults } from './kinds/clock-faults';
import { connectionFaults } from './kinds/connection-faults';
import { during, type FaultKind } from './kinds/fault-kind';
import { historyFaults } from './kinds/history-faults';
import { lateSuccess } from './kinds/late-success';
import { operationFaults } from './kinds/operation-faults';
import { pairsOf } from './kinds/pair-faults';
import { processFaults } from './kinds/process-faults';
import { receiverFaults } from './kinds/receiver-faults';
import { redisFaults } from './kinds/redis-faults';
import { runtimeFaults } from './kinds/runtime-faults';
import { waitingFaults } from './kinds/waiting-faults';
import { workFaults } from './kinds/work-faults';

const none: FaultKind = {
  name: 'none',
  what: 'nothing is broken',
  mayRepeat: false,
  usualCount: 6,
  inject: async ({ random }) => await during('nobody', () => wait(random.between(2_000, 4_000))),
};

const singleKinds: readonly FaultKind[] = [
  none,
  ...processFaults,
  ...connectionFaults,
  ...redisFaults,
  ...runtimeFaults,
  ...clockFaults,
  ...operationFaults,
  ...workFaults,
  lateSuccess,
  ...waitingFaults,
  ...receiverFaults,
  ...historyFaults,
];

/** All that can be broken in a service that goes on running. */
export const faultKinds: readonly FaultKind[] = [...singleKinds, ...pairsOf(singleKinds)];

export function faultKindNamed(name: string): FaultKind | undefined {
  return faultKinds.find((kind) => kind.name === name);
}
