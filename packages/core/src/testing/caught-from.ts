/** What `act` throws, to look at more than its message; `undefined` if it throws nothing. */
export function caughtFrom(act: () => unknown): unknown {
  try {
    act();
    return undefined;
  } catch (error) {
    return error;
  }
}
