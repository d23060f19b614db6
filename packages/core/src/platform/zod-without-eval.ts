import { z } from 'zod';

/**
 * Make all later schemas check without functions that are compiled from text. For browsers: where a page's
 * policy forbids that, even zod's test for it is reported.
 */
export function checkWithoutEval(): void {
  z.config({ jitless: true });
}
