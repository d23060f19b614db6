import { ConfigError } from '../kernel/environment';
import { onStopSignal, type Stoppable, stopInOrder } from '../kernel/shutdown';
import type { Emit } from '../model/signal';

export interface StartedProcess {
  readonly emit: Emit;
  /** What there is to say once it runs, such as where it listens. */
  readonly detail: string;
  /** In the order in which they are to be stopped. */
  readonly parts: readonly Stoppable[];
  /** How long they may take to stop, all together. After that the process ends all the same. Milliseconds. */
  readonly stopWithinMs: number;
}

// For what comes after the parts' own deadline, such as putting a job back; within the usual grace period of 30 s.
const STOP_MARGIN_MS = 5_000;

/**
 * Starts a process, stops it at SIGTERM or SIGINT, and exits: 0 after a clean stop, 1 after a fault. One that is told to stop
 * before it has started has nothing to finish, and ends.
 */
export async function runProcess(start: () => Promise<StartedProcess>): Promise<void> {
  let started: StartedProcess | undefined;
  // First: whoever reads that it has started may tell it to stop at once, and the first process of a container is ended by
  // no signal that it does not listen to.
  onStopSignal((signal) => (started ? void stop(started, signal) : process.exit(0)));
  started = await startOrExit(start);
  started.emit({ name: 'process.started', detail: started.detail });
}

async function stop({ emit, parts, stopWithinMs }: StartedProcess, signal: NodeJS.Signals): Promise<void> {
  emit({ name: 'process.stopping', detail: signal });
  process.exitCode = 0;
  const deadlineMs = stopWithinMs + STOP_MARGIN_MS;
  setTimeout(() => giveUp(emit, deadlineMs), deadlineMs);
  await stopInOrder(parts, (name, error) => {
    process.exitCode = 1;
    emit({ name: 'process.fault', detail: `Stopping the ${name} failed.`, error });
  });
  emit({ name: 'process.stopped' });
  exitOnceWritten();
}

// A part that waits for a Redis that is gone, say, would wait for ever. What it holds is taken over by others.
function giveUp(emit: Emit, afterMs: number): void {
  process.exitCode = 1;
  const error = new Error(`Not stopped in ${afterMs} ms.`);
  emit({ name: 'process.fault', detail: 'Ending without waiting any longer.', error });
  exitOnceWritten();
}

async function startOrExit(start: () => Promise<StartedProcess>): Promise<StartedProcess> {
  try {
    return await start();
  } catch (error) {
    process.stderr.write(`${describeStartFault(error)}\n`);
    process.exit(1);
  }
}

// A handle that a library left open must not keep the process; what was logged still has to get out.
function exitOnceWritten(): void {
  process.stdout.write('', () => process.exit());
}

/** Why a process did not start, for who started it: what to set otherwise, or where it broke. */
export function describeStartFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ConfigError) return error.message;
  const { code } = error as NodeJS.ErrnoException;
  const advice = code === undefined ? undefined : ADVICE[code];
  return advice === undefined ? (error.stack ?? error.message) : `${error.message}: ${advice}`;
}

/** What can be wrong with where a process is to listen. */
const ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'the process may not have this port; choose one above 1023.',
  EADDRINUSE: 'another process has this port; choose another one.',
  EADDRNOTAVAIL: 'this machine does not have this address; choose another one.',
  ENOTFOUND: 'there is no such name; choose another one.',
};
