import { setTimeout as wait } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { CUT_WITHIN_MS, cuts } from './faulty-proxy';
import type { InjectedFault } from './ledger';
import type { Random } from './random';
import type { Receivers } from './receivers';
import type { Service } from './service';
import type { ServiceProcess } from './service-process';

export interface FaultScene {
  readonly service: Service;
  readonly receivers: Receivers;
  readonly random: Random;
}

export interface FaultKind {
  readonly name: string;
  /** In a sentence, for the list that `--help` prints. */
  readonly what: string;
  /**
   * Whether an attempt that it hits may have to be made again. Where that is false, the service promises that it does
   * not happen.
   */
  readonly mayRepeat: boolean;
  /** How often it is injected in a run, unless the command line says so. */
  readonly usualCount: number;
  /** Breaks something, mends it, and says what was broken from when to when. */
  readonly inject: (scene: FaultScene) => Promise<Pick<InjectedFault, 'victim' | 'startedAt' | 'endedAt'>>;
}

// The default of JOB_LOCK_DURATION is 30 s: after this another worker has every right to the stopped one's jobs.
const LONGER_THAN_THE_LOCK_MS = 34_000;

export const faultKinds: readonly FaultKind[] = [
  {
    name: 'none',
    what: 'nothing is broken',
    mayRepeat: false,
    usualCount: 3,
    inject: async ({ random }) => await during('nobody', () => wait(random.between(2_000, 4_000))),
  },
  {
    name: 'worker-kill',
    what: 'kill -9 of a worker, which is then started anew',
    mayRepeat: true,
    usualCount: 6,
    inject: async ({ service, random }) => await killAndRestart(random.pick(service.workers), random),
  },
  {
    name: 'worker-stop-long',
    what: 'SIGSTOP of a worker for longer than its jobs are its own, then SIGCONT',
    mayRepeat: true,
    usualCount: 2,
    inject: async ({ service, random }) =>
      await freezeFor(random.pick(service.workers), LONGER_THAN_THE_LOCK_MS),
  },
  {
    name: 'worker-stop-short',
    what: 'SIGSTOP of a worker for one to four seconds, then SIGCONT',
    mayRepeat: true,
    usualCount: 6,
    inject: async ({ service, random }) =>
      await freezeFor(random.pick(service.workers), random.between(1_000, 4_000)),
  },
  {
    name: 'worker-restart',
    what: 'SIGTERM of a worker, which is started anew when it has ended',
    mayRepeat: false,
    usualCount: 6,
    inject: async ({ service, random }) => await restart(random.pick(service.workers)),
  },
  {
    name: 'worker-cut',
    what: "a worker's connections to Redis break: at once, in the middle of a command, or before its reply",
    mayRepeat: true,
    usualCount: 8,
    inject: async ({ service, random }) => await cutConnections(random.pick(service.workers), random),
  },
  {
    name: 'worker-stall',
    what: 'nothing passes between a worker and Redis for two to six seconds',
    mayRepeat: true,
    usualCount: 5,
    inject: async ({ service, random }) => await stallConnections(random.pick(service.workers), random),
  },
  {
    name: 'api-kill',
    what: 'kill -9 of an API, which is then started anew',
    mayRepeat: false,
    usualCount: 6,
    inject: async ({ service, random }) => await killAndRestart(random.pick(service.apis), random),
  },
  {
    name: 'api-restart',
    what: 'SIGTERM of an API, which is started anew when it has ended',
    mayRepeat: false,
    usualCount: 6,
    inject: async ({ service, random }) => await restart(random.pick(service.apis)),
  },
  {
    name: 'api-cut',
    what: "an API's connections to Redis break, as a worker's do",
    mayRepeat: false,
    usualCount: 8,
    inject: async ({ service, random }) => await cutConnections(random.pick(service.apis), random),
  },
  {
    name: 'api-stall',
    what: 'nothing passes between an API and Redis for two to six seconds',
    mayRepeat: false,
    usualCount: 5,
    inject: async ({ service, random }) => await stallConnections(random.pick(service.apis), random),
  },
  {
    name: 'redis-stop',
    what: 'SIGSTOP of Redis for three seconds, then SIGCONT',
    mayRepeat: true,
    usualCount: 5,
    inject: async ({ service }) => await freezeFor(service.redis, 3_000, 'Redis'),
  },
  {
    name: 'redis-kill',
    what: 'kill -9 of Redis, which then starts from its append-only file',
    mayRepeat: true,
    usualCount: 5,
    inject: async ({ service, random }) =>
      await during('Redis', async () => {
        await service.redis.kill();
        await wait(random.between(0, 1_500));
        await service.redis.start();
      }),
  },
  {
    name: 'redis-out-of-memory',
    what: 'Redis takes no writes for six to nine seconds (maxmemory, noeviction)',
    mayRepeat: true,
    usualCount: 4,
    inject: async ({ service, random }) =>
      await during('Redis', () => withholdMemory(service.redis.port, random.between(6_000, 9_000))),
  },
  {
    name: 'receiver-reset',
    what: 'every receiver breaks all connections for a second or two',
    mayRepeat: true,
    usualCount: 5,
    inject: async ({ receivers, random }) =>
      await during('receivers', () => switchOn(receivers, 'reset', random.between(1_000, 2_000))),
  },
  {
    name: 'receiver-stall',
    what: 'every receiver keeps its answers back for two to five seconds',
    mayRepeat: false,
    usualCount: 5,
    inject: async ({ receivers, random }) =>
      await during('receivers', () => switchOn(receivers, 'stall', random.between(2_000, 5_000))),
  },
];

export function faultKindNamed(name: string): FaultKind | undefined {
  return faultKinds.find((kind) => kind.name === name);
}

async function killAndRestart(victim: ServiceProcess, random: Random) {
  const startedAt = Date.now();
  await victim.end('SIGKILL');
  const endedAt = Date.now();
  await wait(random.between(0, 1_000));
  await victim.start();
  return { victim: victim.name, startedAt, endedAt };
}

async function restart(victim: ServiceProcess) {
  return await during(victim.name, async () => {
    await victim.end('SIGTERM');
    await victim.start();
  });
}

async function freezeFor(
  victim: { freeze(): void; thaw(): void; readonly name?: string },
  forMs: number,
  name: string = victim.name ?? '',
) {
  return await during(name, async () => {
    victim.freeze();
    await wait(forMs);
    victim.thaw();
  });
}

async function cutConnections({ name, proxy }: ServiceProcess, random: Random) {
  return await during(name, async () => {
    proxy.cut(() => random.pick(cuts));
    await wait(CUT_WITHIN_MS);
    proxy.spareTheRest();
  });
}

async function stallConnections({ name, proxy }: ServiceProcess, random: Random) {
  return await during(name, async () => {
    proxy.stall();
    await wait(random.between(2_000, 6_000));
    proxy.resume();
  });
}

async function withholdMemory(redisPort: number, forMs: number): Promise<void> {
  const redis = new Redis(redisPort, '127.0.0.1');
  try {
    const used = /used_memory:(\d+)/.exec(await redis.info('memory'))?.[1] ?? '1';
    await redis.config('SET', 'maxmemory', used);
    await wait(forMs);
    await redis.config('SET', 'maxmemory', '0');
  } finally {
    redis.disconnect();
  }
}

async function switchOn(receivers: Receivers, kind: 'reset' | 'stall', forMs: number): Promise<void> {
  receivers.tell({ kind, isOn: true });
  await wait(forMs);
  receivers.tell({ kind, isOn: false });
}

async function during(victim: string, breakAndMend: () => Promise<void>) {
  const startedAt = Date.now();
  await breakAndMend();
  return { victim, startedAt, endedAt: Date.now() };
}
