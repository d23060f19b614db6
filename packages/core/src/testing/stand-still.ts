/** As on a busy machine: all others run, and this process does not. Milliseconds. */
export function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
