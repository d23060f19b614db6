import { type Signal, type SignalNamed, signals } from '../domain/signal';

/** One signal of each name that a test needs one of. */
export const signalSamples = Object.fromEntries(
  Object.entries(signals).map(([name, { sample }]) => [name, { name, ...sample }]),
) as unknown as { readonly [Name in Signal['name']]: SignalNamed<Name> };
