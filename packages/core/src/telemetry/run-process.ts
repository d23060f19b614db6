import type { Emit, SignalListener } from '../domain/signal';
import type { Clock } from '../platform/clock';
import { ConfigError } from '../platform/settings';
import { onStopSignal, type Stoppable, stopInOrder } from '../platform/timers';

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

/**
 * What libraries write to the console goes to the log, as a line like all others: BullMQ warns of a Redis that evicts, once
 * for each of its connections. @returns what puts the console back as it was.
 */
export function captureConsole(listen: SignalListener): () => void {
  const { warn, error } = console;
  const tell = (...parts: unknown[]) => listen({ name: 'library.warned', text: parts.map(String).join(' ') });
  Object.assign(console, { warn: tell, error: tell });
  return () => void Object.assign(console, { warn, error });
}

/** Often enough to see in a log that Redis is still away. */
const REMINDER_MS = 60_000;

/**
 * Passes signals on, but an error of a connection to Redis, a library's warning, or that jobs are left to a later version, only
 * if it has not done so within the last minute. Each connection tries again every second: a worker without Redis would write
 * a dozen lines a second, all the same.
 */
export function withoutRepeats(listen: SignalListener, clock: Clock): SignalListener {
  const passedOnAt = new Map<string, number>();
  return (signal) => {
    if (signal.name === 'redis.error' && isRepeat(`${signal.connection}: ${String(signal.error)}`)) return;
    if (signal.name === 'library.warned' && isRepeat(signal.text)) return;
    if (signal.name === 'job.too_new' && isRepeat(`${signal.queue}: ${signal.version}`)) return;
    listen(signal);
  };

  function isRepeat(text: string): boolean {
    const now = clock();
    for (const [other, at] of passedOnAt) if (now - at >= REMINDER_MS) passedOnAt.delete(other);
    if (passedOnAt.has(text)) return true;
    passedOnAt.set(text, now);
    return false;
  }
}
