// @ts-check
/**
 * Ends what its parent started when the parent is gone without having done so itself (kill -9, a crash).
 * The parent keeps a pipe to our standard input open and writes `watch <pid> <signal>` and `forget <pid>` to it; the
 * operating system closes that pipe however the parent ends. This is a program, run by start-watchdog.mjs.
 */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const GRACE_MS = 10_000;
const LOOK_EVERY_MS = 50;

/** In order of their start: the signal that asks each to stop. @type {Map<number, NodeJS.Signals>} */
const watched = new Map();

for await (const line of createInterface({ input: process.stdin })) {
  const [verb, pid, signal] = line.split(' ');
  if (verb === 'watch') watched.set(Number(pid), /** @type {NodeJS.Signals} */ (signal));
  if (verb === 'forget') watched.delete(Number(pid));
}
// What was started last depends on what was started before it: Redis goes last.
for (const [pid, signal] of [...watched].reverse()) await end(pid, signal);

/**
 * @param {number} pid
 * @param {NodeJS.Signals} signal
 */
async function end(pid, signal) {
  const deadline = Date.now() + GRACE_MS;
  let isAlive = send(pid, signal);
  while (isAlive && Date.now() < deadline) {
    await sleep(LOOK_EVERY_MS);
    isAlive = send(pid, 0) && !isZombie(pid);
  }
  if (isAlive) send(pid, 'SIGKILL');
}

/**
 * @param {number} pid
 * @param {NodeJS.Signals | 0} signal 0 sends nothing, and only asks
 * @returns {boolean} whether the process was still there
 */
function send(pid, signal) {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/**
 * Ended, but still in the table of processes: in a container there may be nobody to collect an orphan.
 * @param {number} pid
 */
function isZombie(pid) {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false; // Not Linux: there an orphan is always collected.
  }
}
