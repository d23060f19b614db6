/** A promise that was not kept. */
export interface Finding {
  readonly check: string;
  readonly count: number;
  /** The first few, in words. */
  readonly examples: readonly string[];
}

const EXAMPLES_SHOWN = 5;

/** One finding for all cases of a kind; none for no case. */
export function toFindings(check: string, cases: readonly string[]): readonly Finding[] {
  return cases.length === 0 ? [] : [{ check, count: cases.length, examples: cases.slice(0, EXAMPLES_SHOWN) }];
}
