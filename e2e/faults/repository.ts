import { join } from 'node:path';

/** The root of the checkout that this is compiled in. */
export const REPOSITORY = join(__dirname, '..', '..', '..', '..');
