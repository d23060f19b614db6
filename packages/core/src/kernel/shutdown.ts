/** Something that was started and has to be stopped; `name` is for the log. */
export interface Stoppable {
  readonly name: string;
  stop(): Promise<void>;
}

/** Runs `stop` at the first SIGTERM or SIGINT. Later signals are ignored: the first one is being obeyed. */
export function onStopSignal(stop: (signal: NodeJS.Signals) => void): void {
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping) return;
      stopping = true;
      stop(signal);
    });
  }
}

/** Stops one after the other, in the order given: whatever takes in work first, what it needs last. */
export async function stopInOrder(
  parts: readonly Stoppable[],
  onFailure: (name: string, error: unknown) => void,
): Promise<void> {
  for (const part of parts) {
    try {
      await part.stop();
    } catch (error) {
      onFailure(part.name, error);
    }
  }
}
