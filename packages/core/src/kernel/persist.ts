import { setTimeout as wait } from 'node:timers/promises';

export interface PersistOptions {
  readonly everyMs: number;
  /** Ends it: what went wrong last is thrown. */
  readonly signal: AbortSignal;
  readonly onFailure: (error: unknown) => void;
  /** Whether it is no use to go on after such a failure; by default it always is. */
  readonly isFinal?: (error: unknown) => boolean;
}

/** Does something, and for as long as that fails again and again; gives what came of it. */
export async function persist<Result>(
  action: () => Promise<Result>,
  { everyMs, signal, onFailure, isFinal = () => false }: PersistOptions,
): Promise<Result> {
  for (;;) {
    try {
      return await action();
    } catch (error) {
      onFailure(error);
      if (signal.aborted || isFinal(error)) throw error;
      await wait(everyMs, undefined, { signal }).catch(() => {});
    }
  }
}
