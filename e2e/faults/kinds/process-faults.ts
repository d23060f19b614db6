import { setTimeout as wait } from 'node:timers/promises';
import { cuts } from '../faulty-proxy';
import type { Random } from '../random';
import type { Service } from '../service';
import type { ServiceProcess } from '../service-process';
import { during, type FaultKind, type Strike } from './fault-kind';

const parts = [
  { part: 'worker', pick: ({ workers }: Service, random: Random) => random.pick(workers), repeats: true },
  { part: 'api', pick: ({ apis }: Service, random: Random) => random.pick(apis), repeats: false },
] as const;

// 10 s is where JOB_LOCK_DURATION ends by default, by 25 s another worker has taken the jobs over, and 60 s is past whatever
// anybody waits for.
const stops = [
  { seconds: 2, usualCount: 16 },
  { seconds: 10, usualCount: 3 },
  { seconds: 25, usualCount: 3 },
  { seconds: 60, usualCount: 1 },
] as const;

/** Whole processes that die, end or stand still. */
export const processFaults: readonly FaultKind[] = parts.flatMap(({ part, pick, repeats }): FaultKind[] => [
  {
    name: `${part}-kill`,
    what: `kill -9 of one ${part}, which is then started anew`,
    mayRepeat: repeats,
    usualCount: 20,
    inject: async ({ service, random }) => await killAndRestart(pick(service, random), random),
  },
  {
    name: `${part}-restart`,
    what: `SIGTERM of one ${part}, which is started anew when it has ended`,
    mayRepeat: false,
    usualCount: 10,
    inject: async ({ service, random }) => await restart(pick(service, random)),
  },
  ...stops.map(
    ({ seconds, usualCount }): FaultKind => ({
      name: `${part}-stop-${seconds}s`,
      what: `SIGSTOP of one ${part} for ${seconds} s, then SIGCONT`,
      mayRepeat: repeats,
      usualCount,
      isLong: seconds > 2,
      inject: async ({ service, random }) => await freezeFor(pick(service, random), seconds * 1_000),
    }),
  ),
  {
    name: `${part}-stop-cut-75s`,
    what: `SIGSTOP of one ${part} for 75 s, while its connections to Redis break: at once, in the middle of a command, or before its reply`,
    mayRepeat: repeats,
    usualCount: 1,
    isLong: true,
    inject: async ({ service, random }) => {
      const victim = pick(service, random);
      // What is under way when it stands still is what it may send again once it goes on.
      victim.proxy.cut(() => random.pick(cuts));
      const strike = await freezeFor(victim, 75_000);
      victim.proxy.spareTheRest();
      return strike;
    },
  },
]);

async function killAndRestart(victim: ServiceProcess, random: Random): Promise<Strike> {
  const startedAt = Date.now();
  await victim.end('SIGKILL');
  const endedAt = Date.now();
  await wait(random.between(0, 1_000));
  await victim.start();
  return { victim: victim.name, startedAt, endedAt };
}

export async function restart(victim: ServiceProcess): Promise<Strike> {
  return await during(victim.name, async () => {
    await victim.end('SIGTERM');
    await victim.start();
  });
}

async function freezeFor(victim: ServiceProcess, forMs: number): Promise<Strike> {
  return await during(victim.name, async () => {
    victim.freeze();
    await wait(forMs);
    victim.thaw();
  });
}
