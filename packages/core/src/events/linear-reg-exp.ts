import type { RegExpEngine } from 'ajv/dist/types';
import { RE2JS } from 're2js';

/**
 * Regular expressions whose time grows with the length of a text and no faster, whatever both are like: JavaScript's own
 * would let one payload keep a process busy for years. They know no looking around and no references to what was matched
 * before, which JSON Schema advises against anyway.
 *
 * @throws Error for what is none, or would take more memory than is reasonable.
 */
export const linearRegExp: RegExpEngine = Object.assign(
  (pattern: string) => {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
    return {
      test: (text: string) => compiled.matcher(text).find(),
      // By this ajv tells one from another.
      toString: () => pattern,
    };
  },
  // For checks that are written to a file, which none of ours is.
  { code: 'linearRegExp' },
);
