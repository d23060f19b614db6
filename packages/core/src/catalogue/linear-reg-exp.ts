import type { RegExpEngine } from 'ajv/dist/types';
import { RE2JS } from 're2js';
import type { WorkMeter } from './schema-work';

/** For each character, beside what the size of the expression adds: it is slow, and 200,000 characters are a quarter second. */
const UNITS_A_CHARACTER = 4;
const INSTRUCTIONS_A_UNIT = 8;

/**
 * Regular expressions whose time grows with the length of a text and no faster, whatever both are like: JavaScript's own
 * would let one payload keep a process busy for years. They know no looking around and no references to what was matched
 * before, which JSON Schema advises against anyway.
 *
 * @throws Error for what is none, or would take more memory than is reasonable.
 */
export function createLinearRegExp({ spend }: Pick<WorkMeter, 'spend'>): RegExpEngine {
  const engine = (pattern: string) => {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
    const unitsACharacter = UNITS_A_CHARACTER + compiled.programSize() / INSTRUCTIONS_A_UNIT;
    return {
      test: (text: string) => {
        spend(1 + text.length * unitsACharacter);
        return compiled.matcher(text).find();
      },
      // By this ajv tells one from another.
      toString: () => pattern,
    };
  };
  // For checks that are written to a file, which none of ours is.
  return Object.assign(engine, { code: 'linearRegExp' });
}
