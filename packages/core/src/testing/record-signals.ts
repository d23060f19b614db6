import { EventEmitter, once } from 'node:events';
import type { Signal, SignalListener, SignalNamed } from '../domain/signal';
import { inTime } from './in-time';

export interface SignalRecord {
  readonly listen: SignalListener;
  all(): readonly Signal[];
  named<Name extends Signal['name']>(name: Name): SignalNamed<Name>[];
  /** Resolves to the first one of this name, whether it was announced already or not. */
  first<Name extends Signal['name']>(name: Name): Promise<SignalNamed<Name>>;
  /** Resolves to all of this name once there are so many. */
  atLeast<Name extends Signal['name']>(count: number, name: Name): Promise<SignalNamed<Name>[]>;
}

/** A listener that remembers the signals. */
export function recordSignals(): SignalRecord {
  const signals: Signal[] = [];
  const announced = new EventEmitter();

  function named<Name extends Signal['name']>(name: Name): SignalNamed<Name>[] {
    return signals.filter((signal): signal is SignalNamed<Name> => signal.name === name);
  }

  async function untilThere(count: number, name: Signal['name']): Promise<void> {
    const seen = () =>
      `${named(name).length} of ${count} ${name}, among ${signals.map((signal) => signal.name).join()}`;
    while (named(name).length < count) await inTime(once(announced, name), seen);
  }

  return {
    all: () => signals,
    named,
    listen(signal) {
      signals.push(signal);
      announced.emit(signal.name);
    },
    async first(name) {
      await untilThere(1, name);
      return named(name)[0] as SignalNamed<typeof name>;
    },
    async atLeast(count, name) {
      await untilThere(count, name);
      return named(name);
    },
  };
}
