import { setTimeout as wait } from 'node:timers/promises';
import { during, type FaultKind } from './fault-kind';

const BLOCKED_MS = 45_000;

/** What goes wrong inside a process that goes on living. */
export const runtimeFaults: readonly FaultKind[] = [
  {
    name: 'worker-blocked-45s',
    what: 'the event loop of one worker does nothing for 45 s, while its connections stand',
    mayRepeat: true,
    usualCount: 1,
    isLong: true,
    inject: async ({ service, random }) => {
      const victim = random.pick(service.workers);
      return await during(victim.name, async () => {
        await victim.tamper({ blockMs: BLOCKED_MS });
        await wait(BLOCKED_MS);
      });
    },
  },
];
