import { setFlagsFromString } from 'node:v8';
import type { Emit, SignalListener } from '../domain/signal';
import { AppError } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import { nameRedisError } from '../platform/redis-errors';
import { ConfigError, type Environment } from '../platform/settings';
import { onStopSignal, type Stoppable, stopInOrder } from '../platform/timers';
import { SignalLog } from './winston-signal-log';

export interface Program {
  readonly service: string;
  readonly environment: Environment;
}

export interface StartedProcess {
  readonly emit: Emit;
  /** A message about the running process, such as where it listens. */
  readonly detail: string;
  /** With the commit, if it is known. */
  readonly version: string;
  /** In the order in which they must stop. */
  readonly parts: readonly Stoppable[];
  /** How long they may take to stop, all together. After that the process ends all the same. Milliseconds. */
  readonly stopWithinMs: number;
}

// V8 optimizes a function sooner than by its default: 67,584 in Node 20, and 3,000 calls later. A process reaches its full
// speed after fewer events: in its first minute at 100 events a second it takes a tenth less processor time.
const EARLY_OPTIMIZATION = process.versions.node.startsWith('20.')
  ? '--interrupt-budget=16000'
  : '--invocation-count-for-turbofan=700';

// Under load V8 learns which code makes objects that last, and puts them at once where only a full collection frees them.
// From then on such objects, and all that they refer to, stay in memory long after their request has ended: 6 KB of each.
const NO_PRETENURING = '--no-allocation-site-pretenuring';

// For work after the parts' own deadline, such as putting a job back; within the usual grace period of 30 s.
const STOP_MARGIN_MS = 5_000;

/**
 * Start a process, stop it at SIGTERM or SIGINT, and exit: 0 after a clean stop, 1 after a failure. A process
 * that is told to stop before it has started has nothing to finish, and ends.
 *
 * @param program its name in the log, and the environment: its settings may be why it does not start.
 */
export async function runProcess(program: Program, start: () => Promise<StartedProcess>): Promise<void> {
  setFlagsFromString(EARLY_OPTIMIZATION);
  setFlagsFromString(NO_PRETENURING);
  let started: StartedProcess | undefined;
  // First: a supervisor may stop it as soon as it has started, and the first process of a container ignores
  // signals without a listener.
  onStopSignal((signal) => (started ? void stop(started, signal) : process.exit(0)));
  started = await startOrExit(program, start);
  const { detail, version, emit } = started;
  emit({ name: 'process.started', detail, version });
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

// A part that waits for an absent Redis, for example, would wait for ever. Other processes take over its
// work.
function giveUp(emit: Emit, afterMs: number): void {
  process.exitCode = 1;
  const error = new Error(`It did not stop within ${afterMs} ms.`);
  emit({
    name: 'process.fault',
    detail: 'The process did not stop in time, and ends now. Unfinished jobs run again.',
    error,
  });
  exitOnceWritten();
}

async function startOrExit(
  { service, environment }: Program,
  start: () => Promise<StartedProcess>,
): Promise<StartedProcess> {
  try {
    return await start();
  } catch (error) {
    const detail = describeStartFault(error);
    if (environment.LOG_FORMAT !== 'json') process.stderr.write(`${detail}\n`);
    else
      new SignalLog({ level: 'error', format: 'json', service }).listen({
        name: 'process.not_started',
        detail,
      });
    process.exit(1);
  }
}

// A handle that a library left open must not keep the process alive; pending log lines still have to get out.
function exitOnceWritten(): void {
  process.stdout.write('', () => process.exit());
}

/** Why a process did not start, for its operator: the setting to change, or where it broke. */
export function describeStartFault(thrown: unknown): string {
  const error = nameRedisError(thrown);
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ConfigError || error instanceof AppError) return error.message;
  const { code } = error as NodeJS.ErrnoException;
  const advice = code === undefined ? undefined : ADVICE[code];
  return advice === undefined ? (error.stack ?? error.message) : `${error.message}: ${advice}`;
}

/** The errors of an address to listen on. */
const ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'the process may not have this port; choose one above 1023.',
  EADDRINUSE: 'another process has this port; choose another one.',
  EADDRNOTAVAIL: 'this machine does not have this address; choose another one.',
  ENOTFOUND: 'there is no such name; choose another one.',
};

/**
 * Send libraries' console output to the log, as a normal line: BullMQ warns of a Redis that evicts, once for
 * each of its connections. @returns a function that restores the console.
 */
export function captureConsole(listen: SignalListener): () => void {
  const { warn, error } = console;
  const forward = (...parts: unknown[]) =>
    listen({ name: 'library.warned', text: parts.map(String).join(' ') });
  Object.assign(console, { warn: forward, error: forward });
  return () => void Object.assign(console, { warn, error });
}

/** Often enough to see in a log that Redis is still away. */
const REMINDER_MS = 60_000;

/**
 * Pass signals on, but a connection error of Redis, a library's warning, or a job left to a later version
 * only once a minute. Each connection tries again every second: a worker without Redis would write a dozen
 * identical lines a second.
 */
export function withoutRepeats(listen: SignalListener, clock: Clock): SignalListener {
  const passedOnAt = new Map<string, number>();
  return (signal) => {
    if (signal.name === 'redis.error' && isRepeat(`${signal.connection}: ${String(signal.error)}`)) return;
    if (signal.name === 'library.warned' && isRepeat(signal.text)) return;
    // The API and the worker in one process look at the same Redis.
    if (signal.name === 'redis.unsafe' && isRepeat(signal.detail)) return;
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
