import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const tool = join(__dirname, 'write-scripts.mjs');
const HEAD = '---@with endpoint EndpointId\n---@key list = list(endpoint)\n';

/** What the tool writes for these files, or the fault that it finds. */
async function writeScripts(files: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'scripts-'));
  try {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    const fault = await run(process.execPath, [tool, '--from', folder]).then(
      () => undefined,
      ({ stderr }: { stderr: string }) => stderr.trim(),
    );
    const names = await readdir(folder, { recursive: true });
    const written = names.filter((name) => name.endsWith('.script.ts')).sort();
    const texts = await Promise.all(written.map((name) => readFile(join(folder, name), 'utf8')));
    return { fault, written, text: texts.join('\n') };
  } finally {
    await rm(folder, { recursive: true });
  }
}

const domain = {
  'domain/endpoint.ts': "export type EndpointId = string & { readonly brand: 'endpoint' };\n",
};

describe('npm run scripts', () => {
  it.each<[string, string, string]>([
    ['a name that nobody has', 'return nobody(list)', 'a/x.lua:3: nothing is called nobody'],
    ['an argument that is not used', '---@arg other text\nreturn list', 'a/x.lua:3: other is not used'],
    ['a tag that there is not', '---@keyy x', 'a/x.lua:3: there is no tag @keyy'],
    ['a stop of what is no guard', 'if list then return stop() end', 'a/x.lua:3: only a guard stops'],
    [
      'a member that the reply has not',
      '---@reply a integer\nreturn reply { b = list }',
      'a/x.lua:4: reply has no member b',
    ],
    [
      'a member that the reply lacks',
      '---@reply a text\nlocal _ = list\nreturn reply {}',
      'a/x.lua:5: reply needs a',
    ],
    [
      'a reply that may be missing',
      '---@reply a integer\nlocal _ = list',
      'a/x.lua:4: the last line returns no reply',
    ],
    ['what is no Lua', 'return (list', "a/x.lua:3: ')' expected near '<eof>'"],
    [
      'a file that is not there',
      '---@include ./y.lua\nreturn list',
      'a/x.lua:1: there is no a/y.lua to include',
    ],
    [
      'a type that nobody exports',
      '---@with x Nobody\nreturn list',
      'a/x.lua:1: no type is called Nobody: name its file with @type',
    ],
    ['a type that breaks off', '---@arg x {a text', 'a/x.lua:3: expected "}" at ""'],
    [
      'a key without a name',
      '---@key = list',
      'a/x.lua:3: expected a key such as "log = delivery(endpoint, event)", not "= list"',
    ],
  ])('names the file and the line of %s', async (_what, body, fault) => {
    expect((await writeScripts({ ...domain, 'a/x.lua': `${HEAD}${body}` })).fault).toBe(fault);
  });

  it('keeps the line of each command, whatever is spelled out', async () => {
    const body =
      '---@reply a integer\n---@reply b text?\nreturn reply {\n  b = (\n    list\n  ),\n  a = 1,\n}, list';
    const lines = `${HEAD}${body}`.split('\n');
    const { text } = await writeScripts({ ...domain, 'a/x.lua': lines.join('\n') });
    const written = /body: `([^`]*)`/.exec(text)?.[1]?.split('\n') ?? [];
    expect(written).toHaveLength(lines.length);
    expect(written.findIndex((line) => line.startsWith('return {'))).toBe(4);
    expect(written.at(-1)).toBe(', list');
  });

  it('removes what it wrote for a script that is gone, and leaves alone what is current', async () => {
    const files = { ...domain, 'a/gone.script.ts': 'export {};', 'a/x.lua': `${HEAD}return list` };
    expect((await writeScripts(files)).written).toEqual(['a/x.script.ts']);
  });
});
