/**
 * Is loaded before a process of the service, and does to it from within what can't be done from without. What, is in the
 * file that the environment names; SIGUSR2 says that it was written.
 */
import { readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import type { Tampering } from './tampering';
import { TAMPERING_FILE } from './tampering';

// Whatever takes longer than this between two looks at the clock is a time in which the process stood still.
const STOOD_STILL_MS = 1_000;
const LOOK_EVERY_MS = 50;

/** The clocks of the process, of which it knows no others. */
class FaultyClocks {
  readonly #realSteady = performance.now.bind(performance);
  #wallMs = 0;
  #steadyMs = 0;
  #lastLook = 0;
  #looking: NodeJS.Timeout | undefined;

  constructor() {
    replaceDate(() => this.#look().wallMs);
    const now = () => this.#realSteady() + this.#look().steadyMs;
    Object.defineProperty(performance, 'now', { value: now, configurable: true, writable: true });
  }

  tamper({ clockMs, stopsClocks }: Tampering): void {
    if (clockMs !== undefined) this.#wallMs = clockMs;
    if (stopsClocks === undefined) return;
    clearInterval(this.#looking);
    this.#lastLook = this.#realSteady();
    this.#looking = stopsClocks ? setInterval(() => this.#look(), LOOK_EVERY_MS).unref() : undefined;
  }

  /** By how much they are off. The clocks of a machine that stood still go on where they stopped. */
  #look(): { readonly wallMs: number; readonly steadyMs: number } {
    if (this.#looking) {
      const now = this.#realSteady();
      const passedMs = now - this.#lastLook;
      this.#lastLook = now;
      if (passedMs > STOOD_STILL_MS) {
        this.#wallMs -= Math.round(passedMs);
        this.#steadyMs -= passedMs;
      }
    }
    return { wallMs: this.#wallMs, steadyMs: this.#steadyMs };
  }
}

function replaceDate(offsetMs: () => number): void {
  const RealDate = Date;
  const now = () => RealDate.now() + offsetMs();
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, given, newTarget) =>
      Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget) as Date,
    apply: () => new RealDate(now()).toString(),
    get: (target, property) => (property === 'now' ? now : Reflect.get(target, property)),
  });
}

const file = process.env[TAMPERING_FILE];
if (file !== undefined && isMainThread) {
  const clocks = new FaultyClocks();
  process.on('SIGUSR2', () => {
    const tampering = JSON.parse(readFileSync(file, 'utf8')) as Tampering;
    clocks.tamper(tampering);
    if (tampering.blockMs !== undefined) block(tampering.blockMs);
  });
}

/** As a loop without end would, only that nobody else's processor is used up. */
function block(forMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs);
}
