import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

const ROOT = resolve(__dirname, '../..');

it('refuses a word that the page on style replaces, says where and by which, and leaves code alone', () => {
  const folder = mkdtempSync(join(ROOT, '.cache/words-'));
  const page = join(folder, 'page.md');
  writeFileSync(page, 'Fine.\n\nRead the lists anew.\n\n`anew`\n\n```\nanew\n```\n');
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(ROOT, 'tools/check-words.mjs'), '--page', relative(ROOT, page)],
    { encoding: 'utf8' },
  );
  rmSync(folder, { recursive: true });
  expect({ status, stderr: stderr.trim() }).toEqual({
    status: 1,
    stderr: `${relative(ROOT, page)}:3: "anew" → again`,
  });
});
