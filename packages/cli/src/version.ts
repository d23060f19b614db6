import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Of this package: beside the sources and the compiled files alike. */
export const PACKAGE_VERSION = (
  JSON.parse(readFileSync(join(__dirname, '..', 'package.json'), 'utf8')) as { readonly version: string }
).version;
