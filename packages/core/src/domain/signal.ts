import type { SignalDefinition, SignalLevel } from './signals/define';
import { deliverySignals } from './signals/deliveries';
import { endpointSignals } from './signals/endpoints';
import { eventSignals } from './signals/events';
import { processSignals } from './signals/process';
import { requestSignals } from './signals/requests';
import { workSignals } from './signals/work';

/**
 * The facts that the product's logic announces, by name. Logging, metrics and tracing listen. A signal is for
 * observation only: nothing that the product needs may depend on a listener. No signal holds a secret or a
 * payload.
 */
export const signals = {
  ...requestSignals,
  ...eventSignals,
  ...deliverySignals,
  ...endpointSignals,
  ...workSignals,
  ...processSignals,
} as const;

type Signals = {
  readonly [Name in keyof typeof signals]: (typeof signals)[Name]['sample'];
};

export type Signal = {
  [Name in keyof Signals]: { readonly name: Name } & Signals[Name];
}[keyof Signals];
export type SignalNamed<Name extends Signal['name']> = Extract<Signal, { readonly name: Name }>;

/**
 * One that each delivery makes. It gets the facts that may be absent one by one: a literal with as many copies in it costs several
 * times as much.
 */
export type GrowingSignal<Name extends Signal['name']> = {
  -readonly [Fact in keyof SignalNamed<Name>]: SignalNamed<Name>[Fact];
};

/** The level that it is logged at. */
export function levelOf(signal: Signal): SignalLevel {
  const level = levelOfAny(signal.name);
  if (typeof level === 'string') return level;
  return level.isOther(signal) ? level.other : level.usual;
}

/** The levels that signals of this name are logged at, the usual one first. */
export function levelsOf(name: Signal['name']): readonly SignalLevel[] {
  const level = levelOfAny(name);
  return typeof level === 'string' ? [level] : [level.usual, level.other];
}

function levelOfAny(name: Signal['name']): SignalDefinition<Signal>['level'] {
  // Each takes the facts of its own signal.
  return signals[name].level as SignalDefinition<Signal>['level'];
}

export type SignalListener = (signal: Signal) => void;
export type Emit = (signal: Signal) => void;

/**
 * Tell every listener, in the order given. The list may grow. A listener that throws is a bug in this code and is not
 * hidden.
 */
export function createEmit(listeners: readonly SignalListener[]): Emit {
  return (signal) => {
    for (const listen of listeners) listen(signal);
  };
}
