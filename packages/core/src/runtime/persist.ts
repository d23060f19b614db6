import { setTimeout as wait } from 'node:timers/promises';

export interface PersistOptions {
  readonly everyMs: number;
  /** Ends it: what went wrong last is thrown. */
  readonly signal: AbortSignal;
  readonly onFailure: (error: unknown) => void;
}

/** Does something, and for as long as that fails again and again. */
export async function persist(
  action: () => Promise<void>,
  { everyMs, signal, onFailure }: PersistOptions,
): Promise<void> {
  for (;;) {
    try {
      return await action();
    } catch (error) {
      onFailure(error);
      if (signal.aborted) throw error;
      await wait(everyMs, undefined, { signal }).catch(() => {});
    }
  }
}
