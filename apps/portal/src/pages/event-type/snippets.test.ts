import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { snippetsOf } from './snippets';

const page = readFileSync(join(__dirname, '../../../../../docs/verifying-signatures.md'), 'utf8');

it('takes the functions of all languages from the page about signatures', () => {
  const snippets = snippetsOf(page);
  expect(snippets.map(({ language }) => language)).toEqual([
    'Node.js',
    'Python',
    'Go',
    'Ruby',
    'PHP',
    'Java',
  ]);
  for (const { code } of snippets) {
    expect(code).toMatch(/verify_?body/i);
    expect(code).toMatch(/verify_?message/i);
    expect(code).not.toContain('```');
  }
});
