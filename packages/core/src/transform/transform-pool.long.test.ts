import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import workerThreads, { Worker } from 'node:worker_threads';
import type { AccountId } from '../domain/account';
import type { Signal } from '../domain/signal';
import { testTransformLimits } from '../testing/test-transform-limits';
import type { CodeRun } from './code-runner';
import { TransformPool, type TransformPoolParts } from './transform-pool';

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

const [A, B, C] = ['a', 'b', 'c'] as AccountId[];
const accountId = A as AccountId;

const pools: TransformPool[] = [];
const signals: Signal[] = [];
// Tests of hostile code break threads: none of them is about the pause that follows.
let nowMs = 0;
const pool = open({ now: () => (nowMs += 3_600_000) });
afterEach(() => signals.splice(0));
afterAll(() => Promise.all(pools.map((each) => each.close())));

function open(options: Partial<TransformPoolParts> = {}): TransformPool {
  const opened = new TransformPool({
    limits: testTransformLimits,
    emit: (signal) => signals.push(signal),
    ...options,
  });
  pools.push(opened);
  return opened;
}

async function run(code: string, more: Partial<CodeRun> = {}) {
  return await pool.run({ accountId, code, input: INPUT, ...more });
}

/** The body of the function. */
async function call(statements: string) {
  const kind = statements.includes('await') ? 'async function' : 'function';
  return await run(`export default ${kind} (event) {\n${statements}\n}`);
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
    [
      'a thenable of its own',
      'Object.prototype.then = (go) => go("forged"); return { body: 1 };',
      'no object',
    ],
    [
      'a text that is no JSON, as its type says',
      'return { body: \'1,"id":"forged"\', headers: { "content-type": "application/json" } };',
      'no JSON',
    ],
    [
      'headers without an end',
      'const headers = {}; for (let i = 0; ; i += 1) headers["x-" + i] = "y".repeat(1000); return { body: 1, headers };',
      '',
    ],
    [
      'headers that are too long',
      'const headers = {}; for (let i = 0; i < 99; i += 1) headers["x-" + i] = "y".repeat(1000); return { body: 1, headers };',
      'too long',
    ],
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
    const result = await pool.run({ accountId, code });
    expect(result).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('SyntaxError'),
      line: 2,
    });
  });

  it.each([
    ['no export', 'const a = 1;', 'exports no function'],
    ['an export that is no function', 'export default 5;', 'exports no function'],
    [
      'a CommonJS module',
      'module.exports = () => 1;',
      "ReferenceError: 'module' is not defined: export a function instead",
    ],
    ['a CommonJS export', 'exports.handler = () => 1;', 'export default'],
    ['a CommonJS import', 'const fs = require("fs");\nexport default () => 1;', 'no other module'],
    ['an import', 'import fs from "fs";\nexport default () => 1;', 'fs'],
  ])('is found by loading the code: %s', async (_what, code, message) => {
    const result = await pool.run({ accountId, code });
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

/** Changes to what the language has, each of which would have a say in what the sandbox makes of a result. */
const POLLUTIONS = [
  'Array.prototype.toJSON = () => undefined;',
  'Object.prototype.toJSON = () => ({ text: "1,\\"id\\":\\"forged\\"", headers: {} });',
  'String.prototype.toJSON = Number.prototype.toJSON = Boolean.prototype.toJSON = () => "x".repeat(3e6);',
  'Object.defineProperty(Array.prototype, "0", { set() { throw new Error("no"); } });',
  'for (const name of ["text", "headers", "cancel", "body", "x-a"]) Object.defineProperty(Object.prototype, name, { set() {}, get: () => "forged", configurable: true });',
  'RegExp.prototype.exec = () => null; RegExp.prototype.test = () => false;',
  'String.prototype.slice = String.prototype.toLowerCase = Array.prototype.join = () => "x".repeat(3e6);',
  'globalThis.String = globalThis.TypeError = globalThis.Error = function () { throw 1; };',
  'JSON.stringify = JSON.parse = Reflect.apply = Object.hasOwn = () => "[1";',
  'Array.prototype[Symbol.iterator] = Object.prototype[Symbol.toPrimitive] = function () { throw 1; };',
  'Error.prepareStackTrace = () => { throw 1; }; Error.stackTraceLimit = 1e9;',
  'Function.prototype.call = Function.prototype.apply = () => { throw 1; };',
];

describe('hostile code', () => {
  it.each(POLLUTIONS)(
    'has no say in a body that its function makes, nor in what is printed: %s',
    async (code) => {
      const result = await run(
        `${code}\nexport default () => { console.log("a", 1); return { body: "1", headers: { "content-type": "text/plain", "x-a": "b" } }; };`,
      );
      expect(result).toMatchObject({
        kind: 'returned',
        text: '1',
        headers: { 'content-type': 'text/plain', 'x-a': 'b' },
        logs: ['a 1'],
      });
    },
  );

  it.each(POLLUTIONS)('has no say in how an error is read: %s', async (code) => {
    const result = await run(
      `class Mine { name = "Mine"; message = "m" + "x".repeat(1e6); stack = "transformation.js:7:8"; }\n${code}\nexport default () => { throw new Mine(); };`,
    );
    const message = `Mine: m${'x'.repeat(299)}`;
    expect(result).toMatchObject({ kind: 'failed', message, line: 7, column: 8 });
  });

  it.each([
    ['a loop', 'while (true) {}', 'longer than 200 ms'],
    ['a loop that catches all', 'while (true) { try { while (true) {} } catch {} }', 'longer than 200 ms'],
    ['promises without end', 'return (async () => { for (;;) await null; })();', 'longer than 200 ms'],
    ['a regular expression', 'return { body: /^(a+)+$/.test("a".repeat(40) + "b") };', 'longer than 200 ms'],
    ['a getter that loops', 'return { get body() { for (;;) {} } };', 'longer than 200 ms'],
    ['toJSON that loops', 'return { body: { toJSON() { for (;;) {} } } };', 'longer than 200 ms'],
    ['a comparison that loops', 'return { body: [2, 1].sort(() => { for (;;) {} }) };', 'longer than 200 ms'],
    ['recursion', 'const f = () => f() + 1; return { body: f() };', 'stack overflow'],
    ['strings', 'let s = "x"; for (;;) s += s;', ''],
    ['arrays', 'const a = []; for (;;) a.push(new Array(10000).fill(1));', ''],
    ['memory', 'const a = []; for (;;) a.push(new ArrayBuffer(1024 * 1024));', ''],
    ['depth for the parser', 'return { body: JSON.parse("[".repeat(100000)) };', ''],
    ['promises that catch', 'for (;;) { try { await (async () => { for (;;) {} })(); } catch {} }', 'longer'],
    ['finally', 'const f = () => { try { for (;;) {} } finally { f(); } }; f();', 'longer than 200 ms'],
    [
      'a generator',
      'const g = function* () { try { for (;;) yield 1; } finally { for (;;) {} } }; for (const i of g()) {}',
      'longer',
    ],
    ['a power', 'return { body: String(7n ** 9999999n) };', ''],
    [
      'gigabytes of memory',
      'const a = []; while (a.length < 64) a.push(new ArrayBuffer(1024 * 1024)); return { body: 1 };',
      '16 MB',
    ],
    ['an array of gigabytes', 'return { body: new Uint8Array(4e9).length };', ''],
    [
      'a step without an end',
      'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);',
      'longer than 200 ms',
    ],
    ['an error of megabytes', 'throw new Error("x".repeat(3e6));', 'Error: xxx'],
    ['an error that grows', 'throw { get message() { let s = "x"; for (;;) s += s; } };', ''],
    ['text that calls itself', 'const o = { toString() { return `${o}`; } }; throw { message: o };', ''],
    ['texts without an end', 'for (;;) console.log("x".repeat(1e6));', 'longer than 200 ms'],
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

const LOOP = 'export default () => { for (;;) {} };';
const TRIVIAL = 'export default () => ({ body: 1 });';
// One step inside a function of the language: nothing in the sandbox can stop it.
const HANG = 'export default () => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);';
const charged = (id: AccountId | undefined) =>
  signals
    .filter((signal) => signal.name === 'transformation.charged')
    .filter((signal) => signal.accountId === id)
    .reduce((sum, { tookMs }) => sum + tookMs, 0);

describe('turns', () => {
  /** The order in which the runs of a pool ended. */
  async function orderOf(runs: readonly (readonly [AccountId | undefined, string])[]) {
    const fresh = open();
    const order: (AccountId | undefined)[] = [];
    await Promise.allSettled(
      runs.map(([id = accountId, code]) =>
        fresh.run({ accountId: id, code, input: INPUT }).finally(() => order.push(id)),
      ),
    );
    return order;
  }

  it.each([
    ['takes all its time', LOOP],
    [
      'uses up its memory',
      'export default () => { const a = []; for (;;) a.push(new Array(10000).fill(1)); };',
    ],
    ['changes what makes JSON', `Array.prototype.toJSON = () => undefined; ${TRIVIAL}`],
    ['breaks the thread', HANG],
  ])('come to who used little before whose code %s', async (_what, code) => {
    const flood = Array.from({ length: 4 }, () => [A, code] as const);
    const order = await orderOf([...flood, [B, TRIVIAL]]);
    expect(order.indexOf(B)).toBeLessThanOrEqual(1);
  });

  it('leave a thread to others when code has taken long', async () => {
    const fresh = open({ limits: { ...testTransformLimits, threads: 2 } });
    const start = (id: AccountId | undefined, code: string) =>
      fresh.run({ accountId: id ?? accountId, code, input: INPUT });
    for (let i = 0; i < 10; i += 1) await start(B, TRIVIAL);
    // Both threads are there now, and both accounts are known for their code.
    await Promise.all([start(A, LOOP), start(B, TRIVIAL)]);
    const order: (AccountId | undefined)[] = [];
    const flood = [A, A, A].map((id) => start(id, LOOP).then(() => order.push(id)));
    for (let i = 0; i < 3; i += 1) await start(B, TRIVIAL).then(() => order.push(B));
    await Promise.all(flood);
    expect(order).toEqual([B, B, B, A, A, A]);
  });

  it('are for one run at a time, of two threads, while the code of no account is known', async () => {
    const fresh = open({ limits: { ...testTransformLimits, threads: 2 } });
    const order: (AccountId | undefined)[] = [];
    const runs = [A, A, B].map((id) =>
      fresh.run({ accountId: id ?? accountId, code: LOOP, input: INPUT }).then(() => order.push(id)),
    );
    await Promise.all(runs);
    expect(order).toEqual([A, B, A]);
  });

  it('go round among those who have used the same', async () => {
    const fresh = open({ limits: { ...testTransformLimits, timeoutMs: 10_000, threads: 5 } });
    const start = (id: AccountId | undefined, code: string) =>
      fresh.run({ accountId: id ?? accountId, code, input: INPUT });
    // They use nothing until they end, which is when the pool is closed.
    const underWay = [A, B, A].map((id) => start(id, LOOP).catch(() => {}));
    const order: (AccountId | undefined)[] = [];
    await Promise.all([C, A, B].map((id) => start(id, TRIVIAL).then(() => order.push(id))));
    expect(order).toEqual([C, B, A]);
    await fresh.close();
    await Promise.all(underWay);
  });
});

describe('code that breaks a thread', () => {
  it('is charged with what it used, and with the start of the next thread', async () => {
    const fresh = open();
    const { tookMs } = await fresh.run({ accountId, code: HANG, input: INPUT });
    await fresh.run({ accountId: B as AccountId, code: TRIVIAL, input: INPUT });
    expect(tookMs).toBeGreaterThan(testTransformLimits.timeoutMs);
    expect(charged(A)).toBeGreaterThan(tookMs);
  });

  it('is paused when that repeats, and others are not', async () => {
    let now = 0;
    const fresh = open({ now: () => now });
    const hang = () => fresh.run({ accountId, code: HANG, input: INPUT });
    const runs = await Promise.allSettled([hang(), hang(), hang(), hang()]);
    expect(runs.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected']);
    await expect(hang()).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: 30_000 });
    await expect(
      fresh.run({ accountId: B as AccountId, code: TRIVIAL, input: INPUT }),
    ).resolves.toMatchObject({ kind: 'returned' });
    expect(signals.filter(({ name }) => name === 'transformation.broke_sandbox')).toMatchObject([
      { accountId, part: 'thread', pausedForMs: 0 },
      { accountId, part: 'thread', pausedForMs: 30_000 },
    ]);

    now += 30_000;
    await hang();
    await expect(hang()).rejects.toMatchObject({ retryAfterMs: 60_000 });
    now += 600_000;
    await hang();
    await expect(fresh.run({ accountId, code: TRIVIAL, input: INPUT })).resolves.toBeDefined();
  });

  // A step that nothing interrupts, and that ends by itself, a while after the bound.
  it('has no other account run in a thread that is being ended', async () => {
    const fresh = open({ limits: { ...testTransformLimits, timeoutMs: 40 } });
    let ended: Promise<unknown> = Promise.resolve();
    const terminate = Worker.prototype.terminate;
    const late = jest.spyOn(Worker.prototype, 'terminate').mockImplementation(async function (this: Worker) {
      await Promise.race([ended, wait(300)]);
      return await terminate.call(this);
    });
    const long = 'export default () => ({ body: "a".repeat(20000).indexOf("a".repeat(10000) + "b") })';
    ended = fresh.run({ accountId, code: long, input: INPUT });
    const next = await fresh.run({ accountId: B as AccountId, code: TRIVIAL, input: INPUT });
    expect(next).toMatchObject({ kind: 'returned', text: '1' });
    expect(signals).not.toContainEqual(
      expect.objectContaining({ name: 'transformation.broke_sandbox', accountId: B }),
    );
    late.mockRestore();
  });

  it('loses no thread where only its memory is used up', async () => {
    const fresh = open();
    const code = 'export default () => { const a = []; for (;;) a.push(new ArrayBuffer(1024 * 1024)); };';
    for (let i = 0; i < 3; i += 1) {
      const message = 'It took more than 16 MB of memory.';
      expect(await fresh.run({ accountId, code, input: INPUT })).toMatchObject({ kind: 'failed', message });
    }
    expect(signals.filter(({ name }) => name === 'transformation.broke_sandbox')).not.toContainEqual(
      expect.objectContaining({ part: 'thread' }),
    );
    expect(await fresh.run({ accountId, code: TRIVIAL, input: INPUT })).toMatchObject({ text: '1' });
  });
});

describe('runs that wait', () => {
  const small = () => open({ limits: { ...testTransformLimits, maxWaitingOfAccount: 1, maxWaiting: 2 } });
  const loopOf = (id: AccountId | undefined) => ({ accountId: id ?? accountId, code: LOOP, input: INPUT });

  it('have a limit for each account, and one for all', async () => {
    const fresh = small();
    const running = fresh.run(loopOf(A));
    const waiting = [fresh.run(loopOf(A)), fresh.run(loopOf(B))];
    await expect(fresh.run(loopOf(A))).rejects.toMatchObject({ code: 'rate_limited' });
    await expect(fresh.run(loopOf(C))).rejects.toMatchObject({ code: 'rate_limited' });
    await Promise.all([running, ...waiting]);
  });

  it('are told their turns one after the other when they are refused, by what the code of their account takes', async () => {
    const limits = { ...testTransformLimits, timeoutMs: 600, maxWaiting: 1, maxWaitingOfAccount: 1 };
    const fresh = open({ limits, now: () => 0 });
    const underWay = [1, 2].map(() => fresh.run({ accountId, code: LOOP, input: INPUT }));
    const refused = await Promise.allSettled(
      [A, A, A, B].map((id) => fresh.run({ accountId: id ?? accountId, code: TRIVIAL, input: INPUT })),
    );
    expect(
      refused.map((result) => (result.status === 'rejected' ? result.reason.retryAfterMs : undefined)),
    ).toEqual([1_000, 1_600, 2_200, 1_000]);
    await Promise.all(underWay);
  });

  it('end when the pool is closed', async () => {
    const closing = open();
    const runs = Promise.allSettled([closing.run(loopOf(A)), closing.run(loopOf(A))]);
    await closing.close();
    expect((await runs).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});

describe('threads', () => {
  it('alone load the engine, and not the process that opens a pool', async () => {
    const program = `
      const { TransformPool } = require('./transform-pool');
      new TransformPool({ limits: {}, emit() {} });
      console.log(Object.keys(require.cache).filter((path) => /transform-pool|quickjs/.test(path)).length);`;
    const args = ['--require', 'esbuild-register', '-e', program];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: __dirname });
    expect(stdout.trim()).toBe('1');
  });

  describe('that the machine does not allow', () => {
    const allowNone = () =>
      jest.spyOn(workerThreads, 'Worker').mockImplementation(() => {
        throw new Error('no more threads');
      });
    afterEach(() => jest.restoreAllMocks());

    it('are done without: everything runs in those that there are', async () => {
      const fresh = open({ limits: { ...testTransformLimits, threads: 2 } });
      const start = (id: AccountId | undefined) =>
        fresh.run({ accountId: id ?? accountId, code: TRIVIAL, input: INPUT });
      await start(A);
      allowNone();
      const results = await Promise.all([A, B, C, A, B, C].map(start));
      expect(results.map(({ kind }) => kind)).toEqual(Array(6).fill('returned'));
    });

    it('fail the runs where there is none, until there is one', async () => {
      const fresh = open({ limits: { ...testTransformLimits, threads: 2 } });
      const start = (id: AccountId | undefined) =>
        fresh.run({ accountId: id ?? accountId, code: TRIVIAL, input: INPUT });
      allowNone();
      const failed = await Promise.allSettled([A, B, C].map(start));
      const refused = { status: 'rejected', reason: expect.objectContaining({ code: 'rate_limited' }) };
      expect(failed).toEqual(Array(3).fill(refused));
      jest.restoreAllMocks();
      expect(await start(A)).toMatchObject({ kind: 'returned' });
    });
  });

  it('go after the event loop, where the system tells, but for one that is for quick code alone', async () => {
    const before = nicenesses();
    const fresh = open({ limits: { ...testTransformLimits, threads: 2 } });
    const start = (code: string) => fresh.run({ accountId, code, input: INPUT });
    // Nobody knows yet how long its code takes.
    await start(TRIVIAL);
    const own = before.length > 0 ? nicenessOf(`${process.pid}`) : 0;
    const nice = Math.min(own + 10, 19);
    const niceBefore = before.filter((each) => each === nice).length;
    const niceNow = () => nicenesses().filter((each) => each === nice).length - niceBefore;
    expect(niceNow()).toBe(before.length > 0 ? 1 : -niceBefore);
    for (let i = 0; i < 5; i += 1) await start(TRIVIAL);
    await Promise.all([start(TRIVIAL), start(TRIVIAL)]);
    expect(niceNow()).toBe(before.length > 0 ? 1 : -niceBefore);
    await fresh.close();
  });
});

/** Of all threads of this process; none where the system does not tell. */
const nicenesses = () => (process.platform === 'linux' ? readdirSync('/proc/self/task').map(nicenessOf) : []);

/** Of a thread of this process: 0 as usual, and up to 19. */
function nicenessOf(thread: string): number {
  const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'latin1');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
}
