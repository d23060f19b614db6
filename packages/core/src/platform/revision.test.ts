import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fullVersion, revisionOf } from './revision';
import { VERSION } from './version';

const COMMIT = '86ae8b4799f4f9edfba1771c8b164806acef3368';

let folder: string;
let packed: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'revision-'));
  packed = join(folder, 'revision');
});
afterEach(() => rmSync(folder, { recursive: true }));

it('is what the setting says, or else what it was packed with', () => {
  writeFileSync(packed, `${COMMIT}\n`);
  expect(revisionOf('v7', packed)).toBe('v7');
  for (const given of [undefined, '']) expect(revisionOf(given, packed)).toBe(COMMIT);
  expect(fullVersion(undefined, packed)).toBe(`${VERSION}+86ae8b4799f4`);
});

it.each(['', 'two words', 'r'.repeat(65)])('is not known where nobody says it: %j', (text) => {
  expect(revisionOf(undefined, packed)).toBeUndefined();
  writeFileSync(packed, text);
  expect(revisionOf(undefined, packed)).toBeUndefined();
  expect(fullVersion(undefined, packed)).toBe(VERSION);
});
