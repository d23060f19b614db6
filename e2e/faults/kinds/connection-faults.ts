import { setTimeout as wait } from 'node:timers/promises';
import { CUT_WITHIN_MS, cuts } from '../faulty-proxy';
import type { Random } from '../random';
import type { Service } from '../service';
import type { ServiceProcess } from '../service-process';
import { during, type FaultKind, type Strike } from './fault-kind';

// Slow for a network, and far from any time-out of ours.
const LATENCY_MS = { lowest: 5, highest: 60 } as const;

const parts = [
  { part: 'worker', pick: ({ workers }: Service, random: Random) => random.pick(workers), repeats: true },
  { part: 'api', pick: ({ apis }: Service, random: Random) => random.pick(apis), repeats: false },
] as const;

/** What stands between a process and Redis. */
export const connectionFaults: readonly FaultKind[] = parts.flatMap(
  ({ part, pick, repeats }): FaultKind[] => [
    {
      name: `${part}-cut`,
      what: `the connections of one ${part} to Redis break: at once, in the middle of a command, or before its reply`,
      mayRepeat: repeats,
      usualCount: 60,
      inject: async ({ service, random }) => await cutConnections(pick(service, random), random),
    },
    {
      name: `${part}-stall`,
      what: `nothing passes between one ${part} and Redis for two to six seconds`,
      mayRepeat: repeats,
      usualCount: 20,
      inject: async ({ service, random }) => await stallConnections(pick(service, random), random),
    },
    {
      name: `${part}-half-open`,
      what: `what one ${part} and Redis send each other on the connections of now gets lost without a sign; after 3 to 8 s they are reset`,
      mayRepeat: repeats,
      usualCount: 14,
      inject: async ({ service, random }) => await loseSilently(pick(service, random), random),
    },
    {
      name: `${part}-latency`,
      what: `between one ${part} and Redis everything takes 5 to 60 ms longer, each way, for three to six seconds`,
      mayRepeat: false,
      usualCount: 16,
      inject: async ({ service, random }) => await delayConnections(pick(service, random), random),
    },
  ],
);

async function cutConnections({ name, proxy }: ServiceProcess, random: Random): Promise<Strike> {
  return await during(name, async () => {
    proxy.cut(() => random.pick(cuts));
    await wait(CUT_WITHIN_MS);
    proxy.spareTheRest();
  });
}

async function stallConnections({ name, proxy }: ServiceProcess, random: Random): Promise<Strike> {
  return await during(name, async () => {
    proxy.stall();
    await wait(random.between(2_000, 6_000));
    proxy.resume();
  });
}

async function loseSilently({ name, proxy }: ServiceProcess, random: Random): Promise<Strike> {
  return await during(name, async () => {
    const reset = proxy.swallow();
    await wait(random.between(3_000, 8_000));
    reset();
  });
}

async function delayConnections({ name, proxy }: ServiceProcess, random: Random): Promise<Strike> {
  return await during(name, async () => {
    proxy.delay(random.between(LATENCY_MS.lowest, LATENCY_MS.highest));
    await wait(random.between(3_000, 6_000));
    proxy.delay(0);
  });
}
