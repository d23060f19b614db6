import { execFileSync } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join, normalize } from 'node:path';

const ROOT = join(__dirname, '../../..');
const INDEX = 'docs/README.md';
const LINK = /\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g;
const CODE = /^ *```[^]*?^ *```$|`[^`\n]*`/gm;
const HEADING = /^#+ +(.*)$/gm;

describe('the documentation', () => {
  it('has no link that leads nowhere', async () => {
    const broken: string[] = [];
    for (const page of await pages()) {
      for (const [link, path = '', anchor] of withoutCode(await read(page)).matchAll(LINK)) {
        const target = path === '' ? page : normalize(join(page, '..', path));
        if (!(await leadsSomewhere(target, anchor))) broken.push(`${page}: ${link}`);
      }
    }
    expect(broken).toEqual([]);
  });

  it('has every page in its index', async () => {
    const index = await read(INDEX);
    const decisions = await read('docs/decisions/README.md');
    const others = (await pages()).filter((page) => page.startsWith('docs/') && page !== INDEX);
    const missing = others.filter(
      (page) =>
        !index.includes(`](${page.replace('docs/', '')})`) &&
        !decisions.includes(`](${page.replace('docs/decisions/', '')})`),
    );
    expect(missing).toEqual([]);
  });
});

async function pages(): Promise<string[]> {
  const listed = execFileSync('git', ['ls-files', '*.md'], { cwd: ROOT, encoding: 'utf8' });
  return listed.trim().split('\n').sort();
}

async function read(page: string): Promise<string> {
  return await readFile(join(ROOT, page), 'utf8');
}

async function leadsSomewhere(target: string, anchor: string | undefined): Promise<boolean> {
  if (anchor === undefined) return (await stat(join(ROOT, target)).catch(() => undefined)) !== undefined;
  return anchorsOf(await read(target).catch(() => '')).includes(anchor);
}

/** As GitHub makes them of headings. */
function anchorsOf(text: string): string[] {
  return [...text.replace(/^```[^]*?^```$/gm, '').matchAll(HEADING)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function withoutCode(text: string): string {
  return text.replace(CODE, '``');
}

it('has badges that say what the packages say', async () => {
  const { version, license } = JSON.parse(await read('package.json')) as {
    readonly version: string;
    readonly license: string;
  };
  expect(await read('docs/images/badges/version.svg')).toContain(`>${version}, not published<`);
  expect(await read('docs/images/badges/licence.svg')).toContain(`>${license}<`);
});
