import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

// The kernel counts a process's time in ticks of a hundredth of a second, on every Linux that Node runs on.
const TICK_MS = 10;
const SOCKET_LINK = /^socket:\[(\d+)\]$/;

/** User and system time of a process so far, without that of its children, in milliseconds (Linux). */
export function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The program's name, in parentheses, may hold spaces; what follows it does not.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Processor time that all of the machine has spent so far, and what its host took from it, in milliseconds (Linux). */
export function machineCpuMs(): number {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq + steal) * TICK_MS;
}

/** How much memory a process has in RAM (Linux). */
export function residentBytesOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1_024;
}

/** The ports from which a process has its IPv4 connections open (Linux). */
export function localPortsOf(pid: number): Set<number> {
  const inodes = new Set(readdirSync(`/proc/${pid}/fd`).flatMap((fd) => socketInode(pid, fd) ?? []));
  const [, ...lines] = readFileSync(`/proc/${pid}/net/tcp`, 'utf8').trim().split('\n');
  return new Set(
    lines
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => inodes.has(fields[9] ?? ''))
      .map((fields) => Number.parseInt(fields[1]?.split(':')[1] ?? '', 16)),
  );
}

function socketInode(pid: number, fd: string): string | undefined {
  try {
    return SOCKET_LINK.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
  } catch {
    // Closed since the folder was read.
    return undefined;
  }
}
