import { z } from 'zod';

/**
 * Schemas that are made from now on check without functions that are compiled from text. For browsers: where a page's
 * policy refuses that, even zod's finding out is reported.
 */
export function checkWithoutEval(): void {
  z.config({ jitless: true });
}
