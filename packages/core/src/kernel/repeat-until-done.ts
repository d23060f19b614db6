const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 2_000;

export interface Repetition {
  isDone(): boolean;
  /** Resolves when it was tried once, be it done or not. */
  readonly tried: Promise<void>;
  stop(): void;
}

/** Tries `action` at once and, for as long as it fails, again and again at growing intervals. */
export function repeatUntilDone(action: () => Promise<void>): Repetition {
  let done = false;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;

  async function attempt(delayMs: number): Promise<void> {
    try {
      await action();
      done = true;
    } catch {
      // Whatever `action` works with announces its own errors.
      if (!stopped) timer = setTimeout(() => void attempt(Math.min(delayMs * 2, MAX_DELAY_MS)), delayMs);
    }
  }

  const tried = attempt(FIRST_DELAY_MS);
  return {
    tried,
    isDone: () => done,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
