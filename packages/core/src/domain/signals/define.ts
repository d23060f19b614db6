export type SignalLevel = 'error' | 'warn' | 'info' | 'debug';

/** Of a signal whose level depends on its facts. */
interface TwoLevels<Facts> {
  readonly usual: SignalLevel;
  readonly other: SignalLevel;
  readonly isOther: (facts: Readonly<Facts>) => boolean;
}

/** All that there is to know of a signal. From it follow its type, its line in the log and that line's description. */
export interface SignalDefinition<Facts extends object> {
  /**
   * The level that it is logged at. Metrics count whatever goes as it should: a line for each delivery would cost more than much
   * of the work. A signal that clients can cause at will is `debug`: otherwise they could fill the log.
   */
  readonly level: SignalLevel | TwoLevels<Facts>;
  /** For docs/logs.md, which `npm run logs` writes. */
  readonly means: string;
  /** What an operator does about it; absent: nothing. */
  readonly act?: string;
  /** What it may have, for tests. */
  readonly sample: Readonly<Facts>;
}

/** A signal with these facts, none of which is a secret or a payload. */
export function signal<Facts extends object>(definition: SignalDefinition<Facts>): SignalDefinition<Facts> {
  return definition;
}
