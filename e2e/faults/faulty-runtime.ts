/**
 * Is loaded before a process of the service, and does to it from within what can't be done from without. What, is in the
 * file that the environment names; SIGUSR2 says that it was written.
 */
import { readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import type { Tampering } from './tampering';
import { TAMPERING_FILE } from './tampering';

const file = process.env[TAMPERING_FILE];
if (file !== undefined && isMainThread) {
  let clockMs = 0;
  replaceDate(() => clockMs);
  process.on('SIGUSR2', () => {
    const tampering = JSON.parse(readFileSync(file, 'utf8')) as Tampering;
    clockMs = tampering.clockMs ?? clockMs;
    if (tampering.blockMs !== undefined) block(tampering.blockMs);
  });
}

/** As a loop without end would, only that nobody else's processor is used up. */
function block(forMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs);
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
