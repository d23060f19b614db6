/** The machine's monotonic clock, in microseconds: the same one in all of its processes. */
export function micros(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}
