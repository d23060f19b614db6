// @ts-check
import { spawn } from 'node:child_process';
import { closeSync, openSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Problem } from '../problem.mjs';
import { say } from '../say.mjs';

const LOG_LINES_SHOWN = 8;

/** Processes that live and end together: if one dies, the group has failed; they stop in reverse order. */
export class ProcessGroup {
  /** @type {ManagedProcess[]} */
  #processes = [];
  #watchdog = startWatchdog();
  #failure = new AbortController();
  #isStopping = false;
  /** @type {(() => Promise<void>)[]} */
  #afterwards = [];

  /** Aborted, with a Problem as its reason, as soon as a process has ended that nobody asked to. */
  get failure() {
    return this.#failure.signal;
  }

  /** @param {ProcessDescription} description */
  start(description) {
    const started = new ManagedProcess(description);
    this.#processes.push(started);
    void this.#watch(started);
    return started;
  }

  /** @param {() => Promise<void>} action done once all processes have ended, last added first */
  onStopped(action) {
    this.#afterwards.push(action);
  }

  /**
   * Stops what runs, last started first. May be called twice.
   * @param {AbortSignal} [insisted] aborted = stop being patient
   */
  async stop(insisted = new AbortController().signal) {
    this.#isStopping = true;
    for (const running of this.#processes.toReversed()) await running.stop(insisted);
    for (const action of this.#afterwards.splice(0).reverse()) await action();
    this.#watchdog.dismiss();
  }

  /** @param {ManagedProcess} started */
  async #watch(started) {
    const { pid, ended, description } = started;
    if (pid !== undefined) this.#watchdog.watch(pid, stopSignalOf(description));
    const how = await ended;
    if (pid !== undefined) this.#watchdog.forget(pid);
    if (!this.#isStopping) this.#failure.abort(await describeEnd(started, how));
  }
}

/**
 * @param {ManagedProcess} ended
 * @param {string} how
 */
async function describeEnd({ description: { name, logFile }, logStart, lastOutput }, how) {
  const headline = `${name} ended unexpectedly (${how}).`;
  if (logFile === undefined) return new Problem(headline);
  const log = await readFile(logFile).catch(() => Buffer.alloc(0));
  const logged = log.subarray(logStart).toString('utf8').split('\n');
  // What is wrong with its options it says before it opens its log.
  const lines = [...lastOutput, ...logged].filter((line) => line.trim() !== '').slice(-LOG_LINES_SHOWN);
  if (lines.length === 0) return new Problem(`${headline} It said nothing, and its log is ${logFile}.`);
  return new Problem(`${headline} Its last lines, of its output and of ${logFile}:\n${lines.join('\n')}`);
}

/**
 * @typedef {object} ProcessDescription
 * @property {string} name shown before each of its lines
 * @property {readonly [string, ...string[]]} command
 * @property {NodeJS.ProcessEnv} env its whole environment
 * @property {string} cwd
 * @property {number} graceMs how long it may take to stop before it is killed
 * @property {string} [logFile] where it writes instead of to its output
 * @property {boolean} [redirects] whether its output goes to that file: it does not open one itself
 * @property {NodeJS.Signals} [stopSignal] that asks it to stop, unless it is SIGTERM
 * @property {{ uid?: number, gid?: number }} [account] who it runs as, unless it is who we are
 * @property {boolean} [hasOwn] whether it has processes of its own, which do not end with it
 */

/** @param {ProcessDescription} description */
function stopSignalOf({ stopSignal = 'SIGTERM' }) {
  return stopSignal;
}

/** A child process that is out of reach of the terminal's Ctrl-C: it stops when we tell it to. */
class ManagedProcess {
  /** @type {ProcessDescription} */
  description;
  /** Settles when it has ended, with how: `exit code 1`, `signal SIGKILL`. @type {Promise<string>} */
  ended;
  /** The size of its log when it was started: the rest is of earlier ones. */
  logStart = 0;
  /** The last lines of its output. @type {string[]} */
  lastOutput = [];
  #child;
  #isRunning = true;

  /** @param {ProcessDescription} description */
  constructor(description) {
    const { name, command, env, cwd, account, redirects, logFile } = description;
    const [program, ...args] = command;
    if (logFile !== undefined) this.logStart = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
    const log = redirects && logFile !== undefined ? openSync(logFile, 'a', 0o600) : undefined;
    const output = log ?? 'pipe';
    this.description = description;
    // Detached is what keeps the terminal's signals away: the child gets a process group of its own.
    this.#child = spawn(program, args, {
      cwd,
      env,
      detached: true,
      stdio: ['ignore', output, output],
      ...account,
    });
    if (log !== undefined) closeSync(log);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        say(name, line);
        this.lastOutput = [...this.lastOutput, line].slice(-LOG_LINES_SHOWN);
      });
    }
    this.ended = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve(`it could not be started: ${error.message}`));
      this.#child.once('close', (code, signal) => resolve(signal ? `signal ${signal}` : `exit code ${code}`));
    });
    for (const end of ['error', 'exit']) this.#child.once(end, () => (this.#isRunning = false));
  }

  /** Undefined if it could not be started. */
  get pid() {
    return this.#child.pid;
  }

  /**
   * Asks it to stop, and kills it when its grace is over or `insisted` says so. May be called twice.
   * @param {AbortSignal} insisted
   */
  async stop(insisted) {
    if (this.#isRunning) {
      this.#sendSignal(stopSignalOf(this.description));
      const kill = () => this.#kill();
      const timer = setTimeout(kill, this.description.graceMs);
      insisted.addEventListener('abort', kill, { once: true });
      if (insisted.aborted) kill();
      await this.ended;
      clearTimeout(timer);
      insisted.removeEventListener('abort', kill);
    }
    await this.ended;
  }

  #kill() {
    if (!this.#isRunning) return;
    say(this.description.name, 'did not stop in time, and was killed');
    this.#sendSignal('SIGKILL');
  }

  /** @param {NodeJS.Signals} signal */
  #sendSignal(signal) {
    const { pid } = this.#child;
    if (this.description.hasOwn && pid !== undefined) process.kill(-pid, signal);
    else this.#child.kill(signal);
  }
}

/** @typedef {{ watch(pid: number, stopSignal: string): void, forget(pid: number): void, dismiss(): void }} Watchdog */

/**
 * Starts the process that ends ours if we cannot do so ourselves.
 * @returns {Watchdog}
 */
function startWatchdog() {
  const program = fileURLToPath(new URL('./watchdog.mjs', import.meta.url));
  // In a session of its own: what ends our whole process group must not end the watchdog.
  const child = spawn(process.execPath, [program], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  child.unref();
  child.stdin.on('error', () => {}); // It may have been killed by hand; we then run on without it.
  return {
    watch: (pid, stopSignal) => void child.stdin.write(`watch ${pid} ${stopSignal}\n`),
    forget: (pid) => void child.stdin.write(`forget ${pid}\n`),
    dismiss: () => void child.stdin.end(),
  };
}

const STOP_SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/** npm passes a Ctrl-C on that the terminal has already sent to us: one key press, two signals. */
const SAME_KEY_PRESS_MS = 500;

/**
 * From now on a signal to stop ends nothing by itself.
 * @returns {{ requested: AbortSignal, insisted: AbortSignal }} aborted by the first, and by a later second signal
 */
export function listenForStopSignals() {
  const requested = new AbortController();
  const insisted = new AbortController();
  let requestedAt = 0;
  const onSignal = () => {
    if (!requested.signal.aborted) {
      requestedAt = Date.now();
      requested.abort();
    } else if (Date.now() - requestedAt > SAME_KEY_PRESS_MS) {
      insisted.abort();
    }
  };
  for (const name of STOP_SIGNALS) process.on(name, onSignal);
  return { requested: requested.signal, insisted: insisted.signal };
}
