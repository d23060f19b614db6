import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

const ROOT = resolve(__dirname, '../..');

function check(text: string, name = 'page.md') {
  const folder = mkdtempSync(join(ROOT, '.cache/words-'));
  const page = join(folder, name);
  writeFileSync(page, text);
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(ROOT, 'tools/check-words.mjs'), '--page', relative(ROOT, page)],
    { encoding: 'utf8' },
  );
  rmSync(folder, { recursive: true });
  return { status, faults: stderr.trim().replaceAll(`${relative(ROOT, page)}:`, '') };
}

it('refuses a word that the page on style replaces, says where and by which, and leaves code alone', () => {
  const text = 'Fine.\n\nRead the lists anew.\n\n`anew`\n\n```\nanew\n```\n';
  expect(check(text)).toEqual({ status: 1, faults: '3: "anew" → again' });
});

it('reads the texts of the portal, which stand between backticks too', () => {
  expect(check('const text = `Read ${name} anew`;\n', 'page.tsx')).toEqual({
    status: 1,
    faults: '1: "anew" → again',
  });
});

it('refuses a sentence whose subject is a clause, but no question, heading or title before a colon', () => {
  const fine = '# What it is\n\nWhat is it? See what is held.\n\nWhat you will miss: nothing.\n\n';
  expect(check(fine)).toEqual({ status: 0, faults: '' });
  expect(check(`${fine}It is so. What is owed\nis held.\n`)).toEqual({
    status: 1,
    faults: '7: "What is owed is held.…" has a clause as its subject',
  });
});

it('refuses a row of a table that is wider than a terminal, outside of code', () => {
  const row = `| ${'x'.repeat(157)} |`;
  expect(check(`| One |\n| --- |\n${row.replace('x', '')}\n\n\`\`\`\n${row}\n\`\`\`\n`)).toEqual({
    status: 0,
    faults: '',
  });
  expect(check(`| One |\n| --- |\n${row}\n`)).toEqual({
    status: 1,
    faults: '3: a row of a table has 161 columns, more than 160',
  });
});

it('refuses a comment in commands to paste, but not in a program that they write into a file', () => {
  const fine = "```sh\ncat > a.py <<'END'\n# fine\nEND\necho ${unit#*@} 'no #1'\n```\n\n```py\n# fine\n```\n";
  expect(check(fine)).toEqual({ status: 0, faults: '' });
  expect(check(`${fine}\n- So:\n\n  \`\`\`sh\n  echo 1   # one\n  \`\`\`\n`)).toEqual({
    status: 1,
    faults: '15: a comment in commands to paste: zsh takes it for arguments',
  });
});
