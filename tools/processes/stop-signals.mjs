// @ts-check

const STOP_SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/** npm passes a Ctrl-C on that the terminal has already sent to us: one key press, two signals. */
const SAME_KEY_PRESS_MS = 500;

/**
 * From now on a signal to stop ends nothing by itself.
 * @returns {{ requested: AbortSignal, insisted: AbortSignal }} aborted by the first, and by a later second signal
 */
export function listenForStopSignals() {
  const requested = new AbortController();
  const insisted = new AbortController();
  let requestedAt = 0;
  const onSignal = () => {
    if (!requested.signal.aborted) {
      requestedAt = Date.now();
      requested.abort();
    } else if (Date.now() - requestedAt > SAME_KEY_PRESS_MS) {
      insisted.abort();
    }
  };
  for (const name of STOP_SIGNALS) process.on(name, onSignal);
  return { requested: requested.signal, insisted: insisted.signal };
}
