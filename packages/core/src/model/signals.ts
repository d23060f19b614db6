import type { Signal } from './signal';

export type SignalListener = (signal: Signal) => void;
export type Emit = (signal: Signal) => void;

/** Tells every listener, in the order given. A listener that throws is our own bug and is not hidden. */
export function createEmit(listeners: readonly SignalListener[]): Emit {
  return (signal) => {
    for (const listen of listeners) listen(signal);
  };
}
