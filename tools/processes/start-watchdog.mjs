// @ts-check
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** @typedef {{ watch(pid: number): void, forget(pid: number): void, dismiss(): void }} Watchdog */

/**
 * Starts the process that ends ours if we cannot do so ourselves.
 * @returns {Watchdog}
 */
export function startWatchdog() {
  const program = fileURLToPath(new URL('./watchdog.mjs', import.meta.url));
  // In a session of its own: what ends our whole process group must not end the watchdog.
  const child = spawn(process.execPath, [program], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  child.unref();
  child.stdin.on('error', () => {}); // It may have been killed by hand; we then run on without it.
  return {
    watch: (pid) => void child.stdin.write(`watch ${pid}\n`),
    forget: (pid) => void child.stdin.write(`forget ${pid}\n`),
    dismiss: () => void child.stdin.end(),
  };
}
