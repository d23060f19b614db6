import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { hasPostgres, NO_POSTGRES, PostgresServer } from '@hookferry/core/testing/postgres-server';
import { Client } from 'pg';
import { until } from '../support/until';

const projectFolder = resolve(__dirname, '../..');
const EVENT = { keyword: 'red shoes', position: 3, volume: 10 };
const READY = 'Hookferry is ready.';

if (!hasPostgres) console.warn(`SKIPPED: npm start with an installed PostgreSQL, because ${NO_POSTGRES}.`);
const describeWhereInstalled = hasPostgres ? describe : describe.skip;

let folder: string;
let started: Started[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'webhooks-start-'));
  // As any folder of a project: PostgreSQL does not run as root, and its user has to get in.
  await promisify(execFile)('chmod', ['755', folder]);
  started = [];
});

afterEach(async () => {
  for (const one of started) await one.interrupt();
  await rm(folder, { recursive: true, force: true });
});

describe.each(hasPostgres ? ['path', 'npm'] : ['npm'])(
  'npm start -- --history, with PostgreSQL from %s',
  (source) => {
    it('keeps what moved when it is started again, and shows it', async () => {
      const first = await start({ POSTGRES_PROVIDER: source });
      const apiKey = await readFile(join(folder, 'api-key'), 'utf8');
      const { id } = (await publish(first, apiKey)) as { id: string };
      await until(async () => (await eventsIn(folder)).includes(id) || undefined);
      await first.interrupt();
      expect(first.exitCode).toBe(0);
      expect(await readFile(join(folder, 'postgres.log'), 'utf8')).toContain(
        'received fast shutdown request',
      );

      const second = await start({ POSTGRES_PROVIDER: source });
      expect(second.output).not.toContain('creating the database folder');
      expect(await eventsIn(folder)).toContain(id);
      const response = await ask(second, `/v1/events/${id}`, apiKey);
      expect(await response.json()).toMatchObject({ id, data: EVENT });
    });

    it('starts again after it and its servers were killed', async () => {
      const first = await start({ POSTGRES_PROVIDER: source });
      const apiKey = await readFile(join(folder, 'api-key'), 'utf8');
      const { id } = (await publish(first, apiKey)) as { id: string };
      await until(async () => (await eventsIn(folder)).includes(id) || undefined);
      const [pid] = (await readFile(join(folder, 'postgres/data/postmaster.pid'), 'utf8')).split('\n');
      process.kill(Number(pid), 'SIGKILL');
      await first.kill();

      await start({ POSTGRES_PROVIDER: source });
      expect(await eventsIn(folder)).toContain(id);
    });
  },
);

describeWhereInstalled('npm start -- --history', () => {
  it('ends the API and the worker before PostgreSQL, and PostgreSQL before Redis', async () => {
    const running = await start({});
    await running.interrupt();

    const log = await readFile(join(folder, 'postgres.log'), 'utf8');
    expect(log).not.toContain('terminating connection due to administrator command');
    expect(log).toContain('database system is shut down');
    expect(running.output).not.toContain('history.failed');
    expect(await readdir(folder)).not.toContain('history-database-url');
  });

  it('uses the PostgreSQL that is set, and says so', async () => {
    const postgres = await PostgresServer.start();
    try {
      const running = await start({ HISTORY_DATABASE_URL: postgres.url });
      expect(running.output).toContain('using the PostgreSQL that HISTORY_DATABASE_URL names');
      expect(await readdir(folder)).not.toContain('postgres');
      expect(await postgres.query('SELECT version FROM webhook_schema')).toHaveLength(1);
      await running.interrupt();
    } finally {
      await postgres.close();
    }
  });

  it('takes another port when the usual one is taken, and says so', async () => {
    const other = createServer().listen(5432, '127.0.0.1');
    await Promise.race([once(other, 'listening'), once(other, 'error')]);
    try {
      const running = await start({});
      expect(running.output).toMatch(/port 5432 is in use: PostgreSQL listens on \d+ instead/);
    } finally {
      other.close();
    }
  });

  it('goes with the demo, whose deliveries move', async () => {
    const demo = run(['--demo', '--history'], {
      HISTORY_DATABASE_URL: 'postgresql://of-the-user.invalid/db',
    });
    await demo.ended;
    expect(demo.output).toContain('all 3 deliveries moved to PostgreSQL');
    expect(demo.output).not.toContain('of-the-user');
    expect(demo.exitCode).toBe(0);
  });
});

describe('npm start -- --history, on any machine', () => {
  it('refuses data of another version, and says what to do', async () => {
    await mkdir(join(folder, 'postgres/data'), { recursive: true });
    await writeFile(join(folder, 'postgres/data/PG_VERSION'), '12\n');
    const { exitCode, output } = await startAndFail({});

    expect(output).toContain('The history was written by PostgreSQL 12, and there is none of that version:');
    expect(output).toContain('Install PostgreSQL 12, or move the folder `postgres` of the data away');
    expect(exitCode).toBe(1);
  });

  it('refuses a folder that is broken, and leaves it as it is', async () => {
    await mkdir(join(folder, 'postgres/data'), { recursive: true });
    await writeFile(join(folder, 'postgres/data/half'), '');
    const { exitCode, output } = await startAndFail({});

    expect(output).toContain("is damaged: its file PG_VERSION can't be read");
    expect(await readdir(join(folder, 'postgres/data'))).toEqual(['half']);
    expect(exitCode).toBe(1);
  });

  it('says so when its folder can not be made', async () => {
    const file = join(folder, 'a-file');
    await writeFile(file, '');
    const { exitCode, output } = await startAndFail({ DATA_DIR: join(file, 'data') });

    expect(output).toMatch(/The folder for data, .*, can't be written to .* Set DATA_DIR to another folder/);
    expect(exitCode).toBe(1);
  });

  it('refuses a source that it does not know', async () => {
    const { output } = await startAndFail({ POSTGRES_PROVIDER: 'apt' });
    expect(output).toContain("POSTGRES_PROVIDER is 'apt': it must be one of path, npm.");
  });

  it('starts no PostgreSQL and fetches none when nobody asks for it', async () => {
    const running = await start({ POSTGRES_PROVIDER: 'npm' }, []);
    expect(running.output).not.toMatch(/postgres/i);
    expect(await readdir(folder)).not.toContain('postgres');
  });
});

it('npm start -- --workers 2 runs as many workers', async () => {
  const running = await start({}, ['--workers', '2']);
  const apiKey = await readFile(join(folder, 'api-key'), 'utf8');
  const workers = await until(async () => {
    const response = await ask(running, '/v1/operations', apiKey);
    const operations = (await response.json()) as { readonly workers: readonly unknown[] };
    return operations.workers.length > 1 ? operations.workers : undefined;
  });
  expect(workers).toHaveLength(2);
});

/** `npm start`, as it runs in a terminal. */
class Started {
  output = '';
  exitCode: number | null = null;
  readonly ended: Promise<void>;

  constructor(private readonly child: ChildProcess) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (text: Buffer) => (this.output += text.toString()));
    }
    this.ended = this.#watch();
  }

  async #watch(): Promise<void> {
    [this.exitCode] = await once(this.child, 'close');
  }

  get apiUrl(): string {
    return /API +(http:\S+)/.exec(this.output)?.[1] ?? '';
  }

  async untilReady(): Promise<void> {
    await Promise.race([until(async () => this.output.includes(READY) || undefined), this.ended]);
    if (!this.output.includes(READY)) throw new Error(`It ended:\n${this.output}`);
  }

  /** Ctrl-C. */
  async interrupt(): Promise<void> {
    this.child.kill('SIGINT');
    await this.ended;
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }
}

async function start(
  environment: Readonly<Record<string, string>>,
  options: readonly string[] = ['--history'],
): Promise<Started> {
  const one = run(options, environment);
  await one.untilReady();
  return one;
}

async function startAndFail(environment: Readonly<Record<string, string>>): Promise<Started> {
  const one = run(['--history'], environment);
  await one.ended;
  return one;
}

function run(options: readonly string[], environment: Readonly<Record<string, string>>): Started {
  const { REDIS_URL: _shared, ...rest } = process.env;
  const env = {
    ...rest,
    DATA_DIR: folder,
    API_PORT: '0',
    WORKER_PORT: '0',
    HISTORY_MOVE_AFTER: '0s',
    ...environment,
  };
  const args = ['tools/start.mjs', '--skip-setup', ...options];
  const one = new Started(spawn(process.execPath, args, { cwd: projectFolder, env }));
  started.push(one);
  return one;
}

/** An event without receivers is over at once. */
async function publish({ apiUrl }: Started, apiKey: string): Promise<unknown> {
  const response = await fetch(`${apiUrl}/v1/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey.trim()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'keyword.quick_win', data: EVENT }),
  });
  expect(response.status).toBe(202);
  return await response.json();
}

async function ask({ apiUrl }: Started, path: string, apiKey: string): Promise<Response> {
  return await fetch(apiUrl + path, { headers: { authorization: `Bearer ${apiKey.trim()}` } });
}

async function eventsIn(dataFolder: string): Promise<string[]> {
  const client = new Client({
    connectionString: (await readFile(join(dataFolder, 'history-database-url'), 'utf8')).trim(),
  });
  await client.connect();
  try {
    const { rows } = await client.query<{ event_id: string }>('SELECT event_id FROM webhook_events');
    return rows.map((row) => row.event_id);
  } finally {
    await client.end();
  }
}
