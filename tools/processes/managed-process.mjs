// @ts-check
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { say } from '../say.mjs';

/**
 * @typedef {object} ProcessDescription
 * @property {string} name shown before each of its lines
 * @property {readonly [string, ...string[]]} command
 * @property {NodeJS.ProcessEnv} env its whole environment
 * @property {string} cwd
 * @property {number} graceMs how long it may take to stop before it is killed
 * @property {string} [logFile] where it writes instead of to its output
 * @property {boolean} [hasOwn] whether it has processes of its own, which do not end with it
 */

/** A child process that is out of reach of the terminal's Ctrl-C: it stops when we tell it to. */
export class ManagedProcess {
  /** @type {ProcessDescription} */
  description;
  /** Settles when it has ended, with how: `exit code 1`, `signal SIGKILL`. @type {Promise<string>} */
  ended;
  #child;
  #isRunning = true;

  /** @param {ProcessDescription} description */
  constructor(description) {
    const { name, command, env, cwd } = description;
    const [program, ...args] = command;
    this.description = description;
    // Detached is what keeps the terminal's signals away: the child gets a process group of its own.
    this.#child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => say(name, line));
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
      this.#tell('SIGTERM');
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
    say(this.description.name, 'did not stop in time: killed');
    this.#tell('SIGKILL');
  }

  /** @param {NodeJS.Signals} signal */
  #tell(signal) {
    const { pid } = this.#child;
    if (this.description.hasOwn && pid !== undefined) process.kill(-pid, signal);
    else this.#child.kill(signal);
  }
}
