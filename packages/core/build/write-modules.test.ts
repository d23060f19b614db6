import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { writeModules } from './write-modules.mjs';

/** A file with one script. @param tags beside those of its key @param body its lines, from the sixth on */
function fileWith(tags: readonly string[], body: string, parameters = 'list'): string {
  const lines = ['---@with endpoint EndpointId', '---@key list = list(endpoint)', ...tags];
  return [
    ...lines,
    ...Array(4 - lines.length).fill('---'),
    `function do_it(${parameters})`,
    body,
    'end',
    '',
  ].join('\n');
}

/** What the tool writes for these files, or the fault that it finds. */
async function writeScripts(files: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'scripts-'));
  try {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    const fault = faultIn(() => writeModules(folder));
    const names = await readdir(folder, { recursive: true });
    const written = names.filter((name) => name.endsWith('.script.ts')).sort();
    const texts = await Promise.all(written.map((name) => readFile(join(folder, name), 'utf8')));
    return { fault, written, text: texts.join('\n') };
  } finally {
    await rm(folder, { recursive: true });
  }
}

function faultIn(write: () => void): string | undefined {
  try {
    write();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const domain = {
  'domain/endpoint.ts': "export type EndpointId = string & { readonly brand: 'endpoint' };\n",
};

describe('npm run scripts', () => {
  it.each<[what: string, text: string, fault: string]>([
    ['a name that nobody has', fileWith([], 'return nobody(list)'), '6: nothing is called nobody'],
    [
      'other parameters than those of the comment',
      fileWith(['---@param other text'], 'return list'),
      '5: by its comment, do_it has the parameters (list, other)',
    ],
    ['a script without a key', '---@param a text\nfunction do_it(a)\n  return a\nend', '2: do_it has no key'],
    ['a tag that there is not', fileWith(['---@keyy x'], 'return list'), '3: there is no tag @keyy'],
    ['a stop of what is no guard', fileWith([], 'if list then return stop() end'), '6: only a guard stops'],
    [
      'a member that the reply has not',
      fileWith(['---@reply a integer'], 'return reply { b = list }'),
      '6: reply has no member b',
    ],
    [
      'a stop with what is no table of members',
      fileWith(
        ['---@guard', '---@reply a integer'],
        'if list then return stop(list) end\n  return reply { a = 1 }',
      ),
      '6: a reply is a table of its members',
    ],
    ['a member that the reply lacks', fileWith(['---@reply a text'], 'return reply {}'), '6: reply needs a'],
    [
      'a reply that may be missing',
      fileWith(['---@reply a integer'], 'local _ = list'),
      '7: do_it ends without a reply',
    ],
    ['what is no Lua', fileWith([], 'return (list'), "7: ')' expected near 'end'"],
    [
      'a command outside of functions',
      "redis.call('PING')",
      '1: a file has functions, and local values that they share',
    ],
    [
      'a file that is not there',
      `---@include ./y.lua\n${fileWith([], 'return list')}`,
      '1: there is no a/y.lua to include',
    ],
    [
      'a type that nobody exports',
      fileWith(['---@with x Nobody'], 'return list'),
      '1: no type is called Nobody: name its file with @type',
    ],
    ['a type that breaks off', fileWith(['---@param x {a text'], 'return list'), '3: expected "}" at ""'],
    [
      'a key without a name',
      fileWith(['---@key = list'], 'return list'),
      '3: expected a key such as "log = delivery(endpoint, event)", not "= list"',
    ],
  ])('names the file and the line of %s', async (_what, text, fault) => {
    expect((await writeScripts({ ...domain, 'a/x.lua': text })).fault).toBe(`a/x.lua:${fault}`);
  });

  it('keeps the line of each command, whatever is spelled out', async () => {
    const body = '  return reply {\n    b = (\n      list\n    ),\n    a = 1,\n  }, list';
    const file = fileWith(['---@reply a integer', '---@reply b text?'], body);
    const { text } = await writeScripts({ ...domain, 'a/x.lua': file });
    const [, line, written = ''] = /line: (\d+),[^`]*body: `([^`]*)`/.exec(text) ?? [];
    expect(line).toBe('5');
    expect(written.split('\n')).toEqual([
      'local list = KEYS[1]',
      '  return {(1) or 0, ((',
      '      list',
      '    )) or false}',
      '',
      '',
      ', list',
      '',
    ]);
  });

  it('gives no undefined for a guard that always stops with a reply', async () => {
    const tags = ['---@guard', '---@reply a text'];
    const typeWith = async (stop: string) => {
      const body = `if list then return ${stop} end return reply { a = list }`;
      const { text } = await writeScripts({ ...domain, 'a/x.lua': fileWith(tags, body) });
      return /doIt\(.*\): (.*) \{/.exec(text)?.[1];
    };
    expect(await typeWith('stop { a = list }')).toBe('Guard<DoItReply>');
    expect(await typeWith('stop()')).toBe('Guard<DoItReply | undefined>');
  });

  it('gives a script the helpers that it calls, and those that they call', async () => {
    const helpers = 'local unused = 1\nlocal base = 2\nlocal function sum(a)\n  return a + base\nend\n';
    const file = `---@include ./h.lua\n${fileWith([], 'return sum(#list)')}`;
    const { text } = await writeScripts({ ...domain, 'a/h.lua': helpers, 'a/x.lua': file });
    expect(text).toContain('libraries: [base, sum]');
  });

  it('refuses helpers of one name in two files: as one text, one would hide the other', async () => {
    const files = { 'a/x.lua': 'local most = 1\n', 'b/y.lua': '\nlocal most = 2\n' };
    expect((await writeScripts(files)).fault).toBe(
      'b/y.lua:2: most is also in a/x.lua: give it another name',
    );
  });

  it('removes what it wrote for a script that is gone, and leaves alone what is current', async () => {
    const files = { ...domain, 'a/gone.script.ts': 'export {};', 'a/x.lua': fileWith([], 'return list') };
    expect((await writeScripts(files)).written).toEqual(['a/x.script.ts']);
  });
});
