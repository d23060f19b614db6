import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { type Finding, toFindings } from './checks/finding';
import type { Ledger } from './ledger';
import type { Service } from './service';
import type { ServiceProcess } from './service-process';

/** What the service takes of the machine. */
export interface Resources {
  readonly processes: ReadonlyMap<string, ProcessResources>;
  readonly redisBytes: number;
}

interface ProcessResources {
  readonly residentBytes: number;
  readonly descriptors: number;
}

const MIB = 1024 * 1024;
// What a process that has worked keeps: compiled code, pools, caches of bounded size, what its collector has not given back.
const MEMORY_ALLOWANCE = 180 * MIB;
// Connections to receivers and of publishers that are kept alive for a minute.
const DESCRIPTOR_ALLOWANCE = 600;
// What is kept by intention: records of deliveries and events, as docs/finding.md has it; and allocation's own loss.
const BYTES_PER_RECORD = 900;
const BYTES_PER_EVENT = 1_600;
const REDIS_ALLOWANCE = 24 * MIB;
// Time-outs of sockets and caches are over by then.
const LOOKS = 40;
const LOOK_EVERY_MS = 2_000;

export async function measureResources(service: Service): Promise<Resources> {
  const processes = new Map<string, ProcessResources>();
  for (const part of [...service.apis, ...service.workers]) {
    const measured = await measureProcess(part);
    if (measured) processes.set(part.name, measured);
  }
  return { processes, redisBytes: await measureRedis(service) };
}

/** Whether memory and file descriptors are back where they were, but for what is to be kept. Waits for what is on its way back. */
export async function checkResources(
  service: Service,
  base: Resources,
  ledger: Pick<Ledger, 'published' | 'recorded'>,
): Promise<readonly Finding[]> {
  for (let look = 1; ; look += 1) {
    const findings = compare(base, await measureResources(service), ledger);
    if (findings.length === 0 || look === LOOKS) return findings;
    await wait(LOOK_EVERY_MS);
  }
}

export function compare(
  base: Resources,
  now: Resources,
  { published, recorded }: Pick<Ledger, 'published' | 'recorded'>,
): readonly Finding[] {
  const usual = [...base.processes.values()];
  const mostOf = (read: (one: ProcessResources) => number) => Math.max(0, ...usual.map(read));
  const memoryLimit = mostOf(({ residentBytes }) => residentBytes) + MEMORY_ALLOWANCE;
  const descriptorLimit = mostOf(({ descriptors }) => descriptors) + DESCRIPTOR_ALLOWANCE;
  const parts = [...now.processes];
  const kept = recorded.length * BYTES_PER_RECORD + published.size * BYTES_PER_EVENT;
  const redisLimit = base.redisBytes + kept + REDIS_ALLOWANCE;
  return [
    ...toFindings(
      'memory was not released',
      parts
        .filter(([, { residentBytes }]) => residentBytes > memoryLimit)
        .map(
          ([name, { residentBytes }]) =>
            `${name}: ${inMib(residentBytes)}; the limit is ${inMib(memoryLimit)}`,
        ),
    ),
    ...toFindings(
      'file descriptors were not released',
      parts
        .filter(([, { descriptors }]) => descriptors > descriptorLimit)
        .map(([name, { descriptors }]) => `${name}: ${descriptors}; the limit is ${descriptorLimit}`),
    ),
    ...toFindings(
      'Redis stores more than the records need',
      now.redisBytes > redisLimit
        ? [`${inMib(now.redisBytes)}; the limit is ${inMib(redisLimit)} for ${recorded.length} deliveries`]
        : [],
    ),
  ];
}

function inMib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}

/** Undefined where the system does not tell: it is a Linux matter. */
async function measureProcess({ processId }: ServiceProcess): Promise<ProcessResources | undefined> {
  if (processId === undefined) return undefined;
  const folder = `/proc/${processId}`;
  try {
    const status = await readFile(`${folder}/status`, 'utf8');
    const resident = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0);
    return { residentBytes: resident * 1024, descriptors: (await readdir(`${folder}/fd`)).length };
  } catch {
    return undefined;
  }
}

async function measureRedis({ deployment }: Service): Promise<number> {
  if (!deployment.server) return 0;
  const connection = deployment.connect({ maxRetriesPerRequest: null });
  const info = await connection.info('memory');
  connection.disconnect();
  // What its clients' buffers take is not the data set's.
  return Number(/used_memory_dataset:(\d+)/.exec(info)?.[1] ?? 0);
}
