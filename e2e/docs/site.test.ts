import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPage } from './read-page';

const SITE = join(__dirname, '../../site');

describe('the site', () => {
  const pages = join(SITE, 'pages');
  const read = (name: string) => readFileSync(join(pages, name), 'utf8');

  beforeAll(() => {
    execFileSync(process.execPath, [join(SITE, 'prepare.mjs')]);
  });

  it('shows every route with examples in three languages, and every error', async () => {
    const { paths, components } = JSON.parse(await readPage('openapi.json')) as {
      readonly paths: Record<string, object>;
      readonly components: { readonly schemas: { readonly ErrorCode: { readonly enum: string[] } } };
    };
    const routes = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `\`${method.toUpperCase()} ${path}\``),
    );
    const reference = read('reference.md');
    expect(routes.filter((route) => !reference.includes(route))).toEqual([]);
    for (const language of ['sh [curl]', 'js [JavaScript]', 'python [Python]']) {
      expect(reference.split(`\`\`\`${language}`)).toHaveLength(routes.length + 1);
    }
    const codes = components.schemas.ErrorCode.enum;
    expect(codes.filter((code) => !reference.includes(`- \`${code}\``))).toEqual([]);
  });

  it('has each page of the documentation in its navigation, and no link that leaves it', () => {
    const names = readdirSync(pages, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.md'),
    );
    const navigation = readFileSync(join(SITE, '.vitepress/config.mjs'), 'utf8');
    // Their own index names them.
    const others = names.filter((name) => !name.startsWith('decisions/') && name !== 'index.md');
    const missing = others.filter((name) => !navigation.includes(`'/${name.replace(/\.md$/, '')}'`));
    expect(missing.sort()).toEqual(['conformance.md', 'faults.md', 'webhooks.md']);
    expect(names.filter((name) => /\]\(\.\.?\//.test(read(name)))).toEqual([]);
  });
});
