import { readdirSync, readFileSync } from 'node:fs';
import { testTransformLimits } from '../testing/test-transform-limits';
import { TransformPool, type TransformRun } from './transform-pool';

const EVENT = { type: 'order.created', data: { order: { id: 4711, total: 12.5 }, note: 'Zoë 🚀' } };
const ACCEPTED_AT = '2026-11-26T12:00:00.000Z';
const INPUT = {
  body: JSON.stringify(EVENT),
  rest: JSON.stringify({
    id: 'evt_1',
    accepted_at: ACCEPTED_AT,
    webhook: { id: 'wh_1', uid: null, metadata: { team: 'a' } },
    attempt: 1,
  }),
  now: Date.parse(ACCEPTED_AT),
  seed: 7,
};

const pool = new TransformPool(testTransformLimits);
afterAll(() => pool.close());

async function run(code: string, more: Partial<TransformRun> = {}) {
  return await pool.run({ accountId: 'a', code, input: INPUT, ...more });
}

/** The body of the function. */
async function call(statements: string) {
  return await run(`export default function (event) {\n${statements}\n}`);
}

describe('what a function returns', () => {
  it('is a body of JSON', async () => {
    const result = await call(
      'return { body: { id: event.data.order.id, at: event.accepted_at, by: event.webhook.metadata.team } };',
    );
    expect(result).toMatchObject({
      kind: 'returned',
      text: `{"id":4711,"at":"${ACCEPTED_AT}","by":"a"}`,
      headers: {},
    });
  });

  it('is a text, with the content type that says so', async () => {
    const result = await call(`return { body: 'id,total\\n1,2', headers: { 'Content-Type': 'text/csv' } };`);
    expect(result).toMatchObject({
      kind: 'returned',
      text: 'id,total\n1,2',
      headers: { 'Content-Type': 'text/csv' },
    });
  });

  it('is JSON, too, for a string without a content type', async () => {
    expect(await call('return { body: "x" };')).toMatchObject({ kind: 'returned', text: '"x"' });
  });

  it('cancels the delivery', async () => {
    expect(await call('return { cancel: true };')).toMatchObject({ kind: 'cancelled' });
  });

  it('may come later', async () => {
    const result = await run(
      'export default async (event) => { await null; return { body: [event.type] }; };',
    );
    expect(result).toMatchObject({ kind: 'returned', text: '["order.created"]' });
  });

  it.each([
    ['nothing', 'return;', 'The function returned no object'],
    ['no body', 'return {};', '"body" is nothing that JSON can say'],
    ['a function for a body', 'return { body: () => 1 };', '"body" is nothing that JSON can say'],
    ['a ring', 'const o = {}; o.o = o; return { body: o };', 'circular'],
    ['a big integer', 'return { body: { n: 1n } };', 'BigInt'],
    [
      'a header that is no string',
      'return { body: 1, headers: { "x-a": 1 } };',
      'The header x-a is no string',
    ],
    ['a header of a getter', 'return { body: 1, headers: { get a() { throw new Error("no"); } } };', 'no'],
    [
      'half a surrogate pair',
      'return { body: "\\uD800", headers: { "content-type": "text/plain" } };',
      'surrogate',
    ],
    ['more than is let out', 'return { body: "x".repeat(200000) };', '100000 are the most'],
    ['a promise that nothing settles', 'return new Promise(() => {});', 'a promise that nothing settles'],
    ['a proxy that throws', 'return new Proxy({}, { get() { throw new Error("caught"); } });', 'caught'],
    ['toJSON of everything', 'Object.prototype.toJSON = () => 1; return { body: {} };', 'cannot be read'],
  ])('is refused: %s', async (_what, statements, message) => {
    const result = await call(statements);
    expect(result).toMatchObject({ kind: 'failed', message: expect.stringContaining(message) });
  });
});

describe('an error', () => {
  it('has its line and column', async () => {
    expect(await call('\n  nope.x;')).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('nope'),
      line: 3,
      column: expect.any(Number),
    });
  });

  it('is found by loading the code, with its line', async () => {
    const code = 'export default function (event) {\n  let x = ;\n}';
    const result = await pool.run({ accountId: 'a', code });
    expect(result).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('SyntaxError'),
      line: 2,
    });
  });

  it.each([
    ['no export', 'const a = 1;', 'exports no function'],
    ['an export that is no function', 'export default 5;', 'exports no function'],
    ['an import', 'import fs from "fs";\nexport default () => 1;', 'fs'],
  ])('is found by loading the code: %s', async (_what, code, message) => {
    const result = await pool.run({ accountId: 'a', code });
    expect(result).toMatchObject({ kind: 'failed', message: expect.stringContaining(message) });
  });

  it.each([
    ['null'],
    ['{ message: "m" }'],
    ['"text"'],
    ['Object.create(null)'],
    ['{ get message() { throw 1; } }'],
  ])('can be anything: %s', async (thrown) => {
    expect(await call(`throw ${thrown};`)).toMatchObject({
      kind: 'failed',
      message: expect.stringMatching(/./),
    });
  });
});

describe('hostile code', () => {
  it.each([
    ['a loop', 'while (true) {}', 'longer than 50 ms'],
    ['a loop that catches all', 'while (true) { try { while (true) {} } catch {} }', 'longer than 50 ms'],
    ['promises without end', 'return (async () => { for (;;) await null; })();', 'longer than 50 ms'],
    ['a regular expression', 'return { body: /^(a+)+$/.test("a".repeat(40) + "b") };', 'longer than 50 ms'],
    ['a getter that loops', 'return { get body() { for (;;) {} } };', 'longer than 50 ms'],
    ['toJSON that loops', 'return { body: { toJSON() { for (;;) {} } } };', 'longer than 50 ms'],
    ['a comparison that loops', 'return { body: [2, 1].sort(() => { for (;;) {} }) };', 'longer than 50 ms'],
    ['recursion', 'const f = () => f() + 1; return { body: f() };', 'stack overflow'],
    ['strings', 'let s = "x"; for (;;) s += s;', ''],
    ['arrays', 'const a = []; for (;;) a.push(new Array(10000).fill(1));', ''],
    ['memory', 'const a = []; for (;;) a.push(new ArrayBuffer(1024 * 1024));', ''],
    ['depth for the parser', 'return { body: JSON.parse("[".repeat(100000)) };', ''],
    ['a step that takes long', 'return { body: "x".repeat(4000000).split("").reverse().join("") };', ''],
  ])('fails, and others run as before: %s', async (_what, statements, message) => {
    expect(await call(statements)).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining(message),
    });
    expect(await call('return { body: 1 };')).toMatchObject({ kind: 'returned', text: '1' });
  });

  it('finds nothing of the host', async () => {
    const names = [
      'process',
      'require',
      'module',
      'fetch',
      'setTimeout',
      'WebAssembly',
      'std',
      'os',
      'globalThis.performance',
      'scriptArgs',
      'print',
    ];
    const result = await call(`return { body: [${names.map((name) => `typeof ${name}`).join(', ')}] };`);
    expect(result).toMatchObject({ text: JSON.stringify(names.map(() => 'undefined')) });
  });

  it('leaves nothing to the next run', async () => {
    await call('globalThis.left = 1; Array.prototype.left = 1; return { body: 1 };');
    expect(await call('return { body: [typeof left, typeof [].left] };')).toMatchObject({
      text: '["undefined","undefined"]',
    });
  });

  it("can not forge the host's side: what it returns is read as data", async () => {
    const result = await call('JSON.stringify = () => "{\\"text\\":1}"; return { body: { a: 1 } };');
    expect(result).toMatchObject({ kind: 'returned', text: '{"a":1}' });
  });
});

describe('time and chance', () => {
  it('stand still: every run has the same result', async () => {
    const statements =
      'return { body: [Date.now(), new Date().toISOString(), new Date(0).getHours(), Math.random(), Math.random()] };';
    const first = await call(statements);
    expect(first).toMatchObject({ text: expect.stringContaining(`[${INPUT.now},"${ACCEPTED_AT}",0,0.`) });
    expect(await call(statements)).toMatchObject({ text: 'text' in first ? first.text : '' });
  });

  it('differ by the seed', async () => {
    const code = 'export default () => ({ body: Math.random() });';
    const results = await Promise.all([1, 2].map((seed) => run(code, { input: { ...INPUT, seed } })));
    const [one, other] = results.map((result) => ('text' in result ? result.text : undefined));
    expect(one).not.toBe(other);
  });
});

it('gives what the code printed, 4 KB at most', async () => {
  expect(await call('console.log("a", { b: 1 }); console.error(2); return { body: 1 };')).toMatchObject({
    logs: ['a {"b":1}', '2'],
  });
  const { logs } = await call(
    'for (let i = 0; i < 1000; i += 1) console.log("x".repeat(100)); return { body: 1 };',
  );
  expect(logs.join('\n').length).toBeLessThanOrEqual(4_096);
});

it('gives what was printed before an error, too', async () => {
  expect(await call('console.log("here"); throw new Error("no");')).toMatchObject({
    kind: 'failed',
    logs: ['here'],
  });
});

it('lets who used little go before who used much', async () => {
  const busy = 'export default () => { for (;;) {} };';
  const order: string[] = [];
  const flood = Array.from({ length: 10 }, () =>
    pool.run({ accountId: 'busy', code: busy, input: INPUT }).then(() => order.push('busy')),
  );
  const quiet = run('export default () => ({ body: 1 });', { accountId: 'quiet' }).then(() =>
    order.push('quiet'),
  );
  await Promise.all([...flood, quiet]);
  expect(order.indexOf('quiet')).toBeLessThanOrEqual(1);
});

it('refuses more than may wait', async () => {
  const small = new TransformPool({ ...testTransformLimits, maxWaiting: 1 });
  const loop = { accountId: 'a', code: 'export default () => { for (;;) {} };', input: INPUT };
  const runs = [small.run(loop), small.run(loop)];
  await expect(small.run(loop)).rejects.toMatchObject({ code: 'rate_limited' });
  await Promise.all(runs);
  await small.close();
});

it('ends runs that wait when it is closed', async () => {
  const closing = new TransformPool(testTransformLimits);
  const loop = { accountId: 'a', code: 'export default () => { for (;;) {} };', input: INPUT };
  const runs = Promise.allSettled([closing.run(loop), closing.run(loop)]);
  await closing.close();
  expect((await runs).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

describe('threads', () => {
  it('go after the event loop, where the system tells', async () => {
    await run('export default () => ({ body: 1 })');
    const threads = process.platform === 'linux' ? readdirSync('/proc/self/task') : [];
    const own = threads.length > 0 ? nicenessOf(`${process.pid}`) : undefined;
    const highest = threads.length > 0 ? Math.max(...threads.map(nicenessOf)) : undefined;
    expect(highest).toBe(own === undefined ? undefined : Math.min(own + 10, 19));
  });
});

/** Of a thread of this process: 0 as usual, and up to 19. */
function nicenessOf(thread: string): number {
  const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'latin1');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
}
