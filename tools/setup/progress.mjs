// @ts-check
import { say } from '../say.mjs';

/**
 * A step of the set-up.
 * @typedef {object} Step
 * @property {string} what as it is said while it is under way
 * @property {number} usualSeconds on two cores: Node 20, November 2026, with nothing in npm's cache
 */

const EVERY_MS = 5_000;
// Before that, the share of a step says little.
const LEAST_SHARE = 0.1;
// What comes after all that can be counted, such as unpacking the last package, takes its time too.
const COUNTED = 0.9;
// A number that stays this small while time passes is none to believe.
const NEARLY_DONE_MS = 3_000;

/**
 * Says what the set-up is doing, how far it is, and how long it may still take: at once, and every five seconds. Steps that
 * take longer here than usual make the later ones longer, too.
 */
export class Progress {
  /** @type {readonly Step[]} */
  #steps;
  #begunAt = Date.now();
  #stepBegunAt = Date.now();
  #index = -1;
  #share = 0;
  #sharedAt = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /** @param {readonly Step[]} steps those that there are to do, in their order */
  constructor(steps) {
    this.#steps = steps;
  }

  /** Begins the next step, which ends the one before. */
  next() {
    this.#index += 1;
    this.#stepBegunAt = Date.now();
    this.#share = 0;
    this.#timer ??= setInterval(() => this.#tell(), EVERY_MS);
    this.#tell();
  }

  /**
   * How far the present step is.
   * @param {number} share of what can be counted that is done: 0 to 1
   */
  note(share) {
    const counted = Math.min(share, 1) * COUNTED;
    // The same share again says nothing: it must not look as if that had taken until now.
    if (counted <= this.#share) return;
    this.#share = counted;
    this.#sharedAt = Date.now();
  }

  /** @param {boolean} isDone whether all steps have been done */
  end(isDone) {
    clearInterval(this.#timer);
    if (isDone && this.#index >= 0) say('setup', `done after ${seconds(Date.now() - this.#begunAt)}`);
  }

  #tell() {
    const step = this.#steps[this.#index];
    if (!step) return;
    const place = `${this.#index + 1}/${this.#steps.length} ${step.what}`;
    const share = this.#share === 0 ? '' : `, ${Math.round(this.#share * 100)} %`;
    say('setup', `${place}${share}; ${this.#left()}`);
  }

  /** How long all steps together may still take, in words. */
  #left() {
    const now = Date.now();
    const before = usualMs(this.#steps.slice(0, this.#index));
    const present = usualMs(this.#steps.slice(this.#index, this.#index + 1));
    const later = usualMs(this.#steps.slice(this.#index + 1));
    const tookMs = now - this.#stepBegunAt;
    const slowness = before === 0 ? 1 : Math.max((this.#stepBegunAt - this.#begunAt) / before, 1);
    const expectedMs =
      this.#share > LEAST_SHARE ? (this.#sharedAt - this.#stepBegunAt) / this.#share : present * slowness;
    if (tookMs > expectedMs) return 'this takes longer than expected';
    const leftMs = expectedMs - tookMs + later * Math.max(slowness, expectedMs / present || 1);
    return leftMs < NEARLY_DONE_MS ? 'nearly done' : `about ${seconds(leftMs)} left`;
  }
}

/** @param {readonly Step[]} steps */
function usualMs(steps) {
  return steps.reduce((sum, { usualSeconds }) => sum + usualSeconds * 1_000, 0);
}

/** @param {number} ms */
function seconds(ms) {
  return `${Math.max(Math.round(ms / 1_000), 1)} s`;
}
