// @ts-check
import { readFile } from 'node:fs/promises';
import { Problem } from '../problem.mjs';
import { ManagedProcess } from './managed-process.mjs';
import { startWatchdog } from './start-watchdog.mjs';

/** @typedef {import('./managed-process.mjs').ProcessDescription} ProcessDescription */

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
  async #watch({ pid, ended, description }) {
    if (pid !== undefined) this.#watchdog.watch(pid);
    const how = await ended;
    if (pid !== undefined) this.#watchdog.forget(pid);
    if (!this.#isStopping) this.#failure.abort(await describeEnd(description, how));
  }
}

/**
 * @param {ProcessDescription} description
 * @param {string} how
 */
async function describeEnd({ name, logFile }, how) {
  const headline = `${name} ended unexpectedly (${how}).`;
  if (logFile === undefined) return new Problem(headline);
  const log = await readFile(logFile, 'utf8').catch(() => '');
  const lastLines = log.trimEnd().split('\n').slice(-LOG_LINES_SHOWN).join('\n');
  return new Problem(`${headline} The last lines of ${logFile}:\n${lastLines}`);
}
