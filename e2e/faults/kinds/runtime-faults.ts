import { setTimeout as wait } from 'node:timers/promises';
import { during, type FaultKind } from './fault-kind';

const BLOCKED_MS = 45_000;
const CLOCK_OFF_BY_MS = 5 * 60_000;

const clocks = [
  { name: 'worker-clock-ahead', sign: 1, words: 'five minutes ahead' },
  { name: 'worker-clock-behind', sign: -1, words: 'five minutes behind' },
] as const;

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
  ...clocks.map(
    ({ name, sign, words }): FaultKind => ({
      name,
      what: `the clock of one worker is ${words} for five to eight seconds`,
      mayRepeat: false,
      usualCount: 3,
      inject: async ({ service, random }) => {
        const victim = random.pick(service.workers);
        return await during(victim.name, async () => {
          await victim.tamper({ clockMs: sign * CLOCK_OFF_BY_MS });
          await wait(random.between(5_000, 8_000));
          await victim.tamper({ clockMs: 0 });
        });
      },
    }),
  ),
];
