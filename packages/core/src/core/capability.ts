import type { SignalListener } from '../domain/signal';
import type { Stoppable } from '../platform/timers';

/**
 * A part of the product that nothing else needs, as an app opens it over the core. Each app lists its own in
 * `capabilities.ts`. Without one of them, everything else works as before.
 */
export interface Capability {
  /** For the log. */
  readonly name: string;
  /** Hears each signal of the process. */
  readonly listen?: SignalListener;
  /** Begin with work of its own. */
  start?(): void;
  /** Take on no more work, and end what runs. The core still works. */
  stop?(): Promise<void>;
  /** Write the rest, and close what it has opened. Nothing that works emits signals any more. */
  close?(): Promise<void>;
}

export function listenersOf(capabilities: readonly Capability[]): readonly SignalListener[] {
  return capabilities.flatMap(({ listen }) => listen ?? []);
}

/** What stops before the parts of the core that work. */
export function stopsOf(capabilities: readonly Capability[]): readonly Stoppable[] {
  return capabilities.flatMap((each) => {
    const { name } = each;
    return each.stop ? [{ name, stop: async () => await each.stop?.() }] : [];
  });
}

/** What stops after them: the last of the list first. */
export function closesOf(capabilities: readonly Capability[]): readonly Stoppable[] {
  return capabilities.toReversed().flatMap((each) => {
    const { name } = each;
    return each.close ? [{ name, stop: async () => await each.close?.() }] : [];
  });
}
