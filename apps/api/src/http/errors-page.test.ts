import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PROBLEMS } from './problem';

const PAGE = join(__dirname, '..', '..', '..', '..', 'docs', 'errors.md');
const ROW = /^\| `(\w+)` +\| (\d{3}) +\|/gm;

describe('the page of errors', () => {
  it('lists every code with its status, once, and no other', async () => {
    const page = await readFile(PAGE, 'utf8');
    const listed = [...page.matchAll(ROW)].map(([, code, status]) => `${code} ${status}`);
    const answered = Object.entries(PROBLEMS).map(([code, { status }]) => `${code} ${status}`);
    expect(listed.toSorted()).toEqual(answered.toSorted());
  });
});
