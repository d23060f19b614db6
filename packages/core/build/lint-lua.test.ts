import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lint-lua-'));
  write('text.ts', 'export const text = 1;\n');
});

afterEach(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}

/** A script with these lines: the first one is its third. */
function script(...body: readonly string[]): string {
  return ['---@key list', 'function do_it(list)', ...body.map((line) => `  ${line}`), 'end', ''].join('\n');
}

function lint(...args: readonly string[]) {
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(__dirname, 'lint-lua.mjs'), '--folder', folder, ...args],
    { encoding: 'utf8' },
  );
  const faults = stderr.split('\n').filter((line) => line !== '');
  return { status, faults: faults.map((fault) => fault.slice(fault.indexOf('x.lua'))) };
}

describe('npm run lint', () => {
  it('finds each name of a script that nobody uses, or that hides another one', () => {
    const text = [
      '---@const A, B ./text',
      '---@include ./y.lua',
      'local unused = 1',
      'local function double(number, other)',
      '  return number * 2',
      'end',
      '---@key list',
      '---@key log',
      '---@param count integer',
      '---@return boolean',
      'function do_it(list, log, count)',
      '  local set = 1',
      '  set = A',
      '  for i, _ in ipairs {} do',
      '    local double = i',
      '    redis.call("SET", double, 1)',
      '  end',
      '  local function again(count)',
      '    if count > 1 then return again(count - 1) end',
      '  end',
      '  while log do',
      '    local log = again(double(1))',
      '  end',
      '  local log = 1',
      '  return log',
      'end',
      '',
    ];
    write('x.lua', text.join('\n').replaceAll('"', "'"));
    write('y.lua', 'local function help()\n  return 1\nend\n');
    write('z.ts', "import { help } from './y.script';\n");
    const { status, faults } = lint();
    expect(status).toBe(1);
    expect(faults).toEqual([
      'x.lua:1: B is not used',
      'x.lua:2: ./y.lua is not used',
      'x.lua:3: unused is not used',
      'x.lua:4: other is not used',
      'x.lua:11: count is not used',
      'x.lua:12: set is not used',
      'x.lua:15: double hides another double',
      'x.lua:18: count hides another count',
      'x.lua:22: log hides another log',
      'x.lua:22: log is not used',
      'x.lua:24: log hides another log',
    ]);
  });

  it('finds nothing wrong with names that are all used, here, by another file or by TypeScript', () => {
    write(
      'x.lua',
      `local lone = { 1 }\n\nlocal function given()\n  return lone\nend\n\n${script('return list')}`,
    );
    write('y.lua', `---@include ./x.lua\n\n${script('return given()')}`);
    expect(lint()).toEqual({ status: 0, faults: [] });
  });

  it('finds a file in another format, which npm run format changes', () => {
    write('x.lua', script('if list then', '  return reply{ }', 'end', 'return   "text"'));
    expect(lint()).toEqual({ status: 1, faults: ['x.lua: has another format. Change it: npm run format'] });
    expect(lint('--write').status).toBe(0);
    expect(readFileSync(join(folder, 'x.lua'), 'utf8')).toBe(
      script('if list then return reply {} end', "return 'text'"),
    );
    expect(lint()).toEqual({ status: 0, faults: [] });
  });

  it('looks at scripts in strings of packages', () => {
    mkdirSync(join(folder, 'receiver', 'src'), { recursive: true });
    const inString = (lua: string) =>
      write('receiver/src/x.lua.ts', `export const A =\n  /* lua */ \`${lua}\`;\n`);
    inString('return redis.call("GET", KEYS[1])');
    const formatted = "return redis.call('GET', KEYS[1])";
    expect(lint()).toEqual({ status: 1, faults: [`x.lua.ts:2: has another format than ${formatted}`] });
    inString(formatted);
    expect(lint()).toEqual({ status: 0, faults: [] });
    inString('return (KEYS');
    expect(lint()).toMatchObject({
      status: 1,
      faults: [expect.stringMatching(/^x\.lua\.ts:2:/)],
    });
  });

  it('names the place of what is no Lua', () => {
    write('x.lua', script('return (list'));
    expect(lint()).toEqual({ status: 1, faults: ["x.lua:4: ')' expected near 'end'"] });
  });
});
