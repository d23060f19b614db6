/** The error that `act` throws, to check more than its message; `undefined` if it throws nothing. */
export function caughtFrom(act: () => unknown): unknown {
  try {
    act();
    return undefined;
  } catch (error) {
    return error;
  }
}
