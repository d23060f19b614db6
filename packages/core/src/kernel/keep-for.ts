/**
 * What was read is good for a while, for all who ask: however many they are, it is read once. What could not be read is not
 * kept.
 *
 * @param now milliseconds, of a clock that never jumps.
 */
export function createKeepFor<Value>(keptMs: number, read: () => Promise<Value>, now: () => number) {
  let kept: { readonly value: Promise<Value>; readonly since: number } | undefined;
  return async function current(): Promise<Value> {
    if (kept && now() - kept.since < keptMs) return await kept.value;
    const reading = { value: read(), since: now() };
    kept = reading;
    try {
      return await reading.value;
    } catch (error) {
      if (kept === reading) kept = undefined;
      throw error;
    }
  };
}
