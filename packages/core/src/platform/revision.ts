import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from './version';

/** A commit, or any other name of a build. */
export const REVISION_FORM = /^[A-Za-z0-9._-]{1,64}$/;

// What `deploy/pack.sh` writes, beside the package.json of the whole.
const PACKED = join(__dirname, '../../../../revision');
// Enough to tell commits apart.
const SHOWN_CHARACTERS = 12;

/** The commit that this was built from, as far as somebody says so: the setting, or else what it was packed with. */
export function revisionOf(given: string | undefined, packed = PACKED): string | undefined {
  if (given !== undefined && given !== '') return given;
  try {
    const text = readFileSync(packed, 'utf8').trim();
    return REVISION_FORM.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}

/** The version with its commit, if that is known: `0.1.0+86ae8b4799f4`. */
export function fullVersion(given: string | undefined, packed = PACKED): string {
  const revision = revisionOf(given, packed);
  return revision === undefined ? VERSION : `${VERSION}+${revision.slice(0, SHOWN_CHARACTERS)}`;
}
