import type { Verdict } from '../path/compare';
import type { SuiteOptions } from '../suite';

/** What a shape costs beside the plain one, or brings. */
export interface Scene {
  readonly title: string;
  /** The headings of what it is held against, and of the shape. */
  readonly sides: readonly [string, string];
  measure(options: SuiteOptions): Promise<Measured>;
}

export interface Measured {
  readonly verdicts: readonly Verdict[];
  /** All that was measured, for programs to read. */
  readonly raw: unknown;
}

/** How often each measurement of a scene is made. */
export function roundsOf({ rounds, short }: SuiteOptions): number {
  return rounds ?? (short ? 1 : 3);
}
