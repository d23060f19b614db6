import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

const projectFolder = resolve(__dirname, '../..');

type Delivery = Readonly<{ id: string; attempts?: readonly { started_at: string }[] }>;
type Page = Delivery & Readonly<{ data: readonly Delivery[] }>;
type Opened = Readonly<{ token: string; capabilities: readonly string[] }>;

describe('npm start', () => {
  it('is followed by commands that first install what it has left out', () => {
    const { scripts } = JSON.parse(readFileSync(join(projectFolder, 'package.json'), 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    for (const name of [
      'build',
      'lint',
      'format',
      'house',
      'site',
      'site:search',
      'site:pages',
      'screenshots',
    ]) {
      expect([name, scripts[name]]).toEqual([
        name,
        expect.stringMatching(/^node tools\/complete-installation\.mjs && /),
      ]);
    }
  });

  it('compiles the command line and each package, which guides and examples use in its folder', async () => {
    const { output } = await run(
      [
        '-e',
        "import('./tools/setup/build.mjs').then(async (build) => console.log(await build.findCompiled()))",
      ],
      {},
    );
    const packages = (await readdir(join(projectFolder, 'packages'))).map((name) => `packages/${name}`);
    const missing = packages.filter((folder) => !output.includes(`'${folder}'`));
    // The first is for products, which install it. The last runs the service by itself, as `npm start` does.
    expect(missing).toEqual(['packages/outbox', 'packages/server']);
  });
});

it('prints a command that gives a shell the address of the API, its key, and the command line', async () => {
  const folder = await mkdtemp(join(tmpdir(), "start'-"));
  const started = spawn(process.execPath, ['tools/start.mjs', '--skip-setup'], {
    cwd: projectFolder,
    env: { ...process.env, API_PORT: '0', WORKER_PORT: '0', DATA_DIR: folder },
  });
  try {
    const [, apiUrl = '', file = ''] = await readUntil(
      started.stdout,
      /\n  API +(\S+)\n[^]*\n\. (\S+)\n\nCtrl-C stops/,
    );
    expect((await stat(join(folder, 'env'))).mode & 0o777).toBe(0o600);
    const commands = `. "$1"; hookferry doctor; echo "at $HOOKFERRY_URL"`;
    const { stdout } = await promisify(execFile)('bash', ['-c', commands, 'bash', file], {
      cwd: projectFolder,
    });
    expect(stdout).toMatch(/reachable/);
    expect(stdout).toContain(`at ${apiUrl}\n`);
  } finally {
    started.stdout.resume();
    started.kill('SIGINT');
    await once(started, 'close');
    await rm(folder, { recursive: true, force: true });
  }
});

describe('npm start -- --demo', () => {
  it('delivers one signed event of each type, one of them at the second attempt, and ends with 0', async () => {
    const { exitCode, output } = await run(['tools/start.mjs', '--demo', '--skip-setup'], {
      API_PORT: '0',
      WORKER_PORT: '0',
    });

    expect(output).toContain('keyword.quick_win, attempt 1: signature verified, responding with 200');
    expect(output).toContain('brief.created, attempt 1: signature verified, responding with 500');
    expect(output).toContain('brief.created, attempt 2: signature verified, responding with 200');
    expect(output).toContain('import.completed, attempt 1: signature verified, responding with 200');
    expect(exitCode).toBe(0);
  });

  it('stays when it is told to, with what it has delivered, and prints a key, and a link that opens the portal once', async () => {
    const demo = spawn(process.execPath, ['tools/start.mjs', '--demo', '--keep', '--skip-setup'], {
      cwd: projectFolder,
      env: { ...process.env, API_PORT: '0', WORKER_PORT: '0' },
    });
    try {
      const [, key = '', origin, code] = await readUntil(
        demo.stdout,
        /API key +(whk_\S+)\n[^]*portal +(http:\S+)\/portal\/#code=(\w+)/,
      );
      const exchange = await fetch(`${origin}/v1/portal-sessions/exchange`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ code }),
      });
      const { token, capabilities } = (await exchange.json()) as Opened;
      expect(capabilities).toContain('operate');
      const events = await fetch(`${origin}/v1/events`, { headers: { authorization: `Bearer ${token}` } });
      expect(await events.json()).toMatchObject({ has_more: true });
      const metrics = await fetch(`${origin}/v1/metrics/deliveries?interval=total`, {
        headers: { authorization: `Bearer ${token}` },
      });
      const { data } = (await metrics.json()) as { data: { attempts: number }[] };
      expect(data[0]?.attempts).toBeGreaterThan(500);
      // The key goes on when the link is used. No attempt is still to come.
      const authorization = `Bearer ${key}`;
      const ask = async (path: string) =>
        (await (
          await fetch(`${origin}/v1/deliveries${path}`, { headers: { authorization } })
        ).json()) as Page;
      const { data: exhausted } = await ask('?status=exhausted&limit=20');
      expect(exhausted.length).toBeGreaterThan(0);
      for (const { id } of exhausted) {
        const { attempts = [] } = (await ask(`/${id}`)) as Delivery;
        for (const { started_at: at } of attempts) expect(Date.parse(at)).toBeLessThanOrEqual(Date.now());
      }
    } finally {
      demo.stdout.resume();
      demo.kill('SIGINT');
      await once(demo, 'close');
    }
  });

  it('refuses an option that it does not know, and says which there are', async () => {
    const { exitCode, output } = await run(['tools/start.mjs', '--dmeo'], {});

    expect(output).toContain('Usage: npm start [-- --demo');
    expect(exitCode).toBe(1);
  });
});

async function readUntil(stream: Readable, pattern: RegExp): Promise<RegExpExecArray> {
  let output = '';
  // It goes on to write: its pipe must not be closed.
  for await (const text of stream.iterator({ destroyOnReturn: false })) {
    output += String(text);
    const found = pattern.exec(output);
    if (found) return found;
  }
  throw new Error(`It ended without ${pattern}:\n${output}`);
}

function run(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<{ exitCode: number | null; output: string }> {
  return new Promise((settle, reject) => {
    const child = spawn(process.execPath, args, {
      cwd: projectFolder,
      env: { ...process.env, ...environment },
    });
    let output = '';
    child.stdout.on('data', (text: Buffer) => (output += text.toString()));
    child.stderr.on('data', (text: Buffer) => (output += text.toString()));
    child.once('error', reject);
    child.once('close', (exitCode) => settle({ exitCode, output }));
  });
}
