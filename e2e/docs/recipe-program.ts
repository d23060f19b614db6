import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signMessage } from '@hookferry/core/deliver/prepare-request';
import { newSecret } from '@hookferry/core/endpoints/rotate-secret';
import { until } from '../support/until';
import { blocksOf, readPage } from './read-page';

const NODE_MODULES = join(__dirname, '../../node_modules');

/** The receiver of a recipe, as a process of its own, and what it prints. */
export class RecipeProgram {
  readonly #child: ChildProcess;
  #output = '';
  #port = '';

  private constructor(
    private readonly folder: string,
    private readonly secret: string,
    environment: Readonly<Record<string, string>>,
  ) {
    const settings = { PATH: process.env.PATH ?? '', PORT: '0', WEBHOOK_SECRET: secret, ...environment };
    this.#child = spawn(process.execPath, ['receiver.mjs'], { cwd: folder, env: settings });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#output += chunk.toString();
      });
    }
  }

  /** Runs the first block of JavaScript of `docs/recipes/`. Resolves when it listens. */
  static async start(page: string, environment: Readonly<Record<string, string>>): Promise<RecipeProgram> {
    const [program] = blocksOf(await readPage(`recipes/${page}.md`), 'js');
    if (program === undefined) throw new Error(`The recipe ${page} has no program.`);
    const folder = await mkdtemp(join(tmpdir(), 'webhooks-recipe-'));
    await symlink(NODE_MODULES, join(folder, 'node_modules'));
    await writeFile(join(folder, 'receiver.mjs'), program);
    const recipe = new RecipeProgram(folder, newSecret(), environment);
    recipe.#port = (await recipe.waitFor(/listening on (\d+)/))[1] ?? '';
    return recipe;
  }

  get output(): string {
    return this.#output;
  }

  async waitFor(pattern: RegExp): Promise<RegExpExecArray> {
    return await until(async () => {
      if (this.#child.exitCode !== null) throw new Error(`It ended: ${this.#output}`);
      return pattern.exec(this.#output) ?? undefined;
    });
  }

  /** Sends it an event, signed, and resolves with the status of its response. */
  async post(id: string, type: string, data: unknown): Promise<number> {
    const body = JSON.stringify({ type, data });
    const timestamp = Math.floor(Date.now() / 1_000);
    const headers = {
      // Between two events the receiver may hang up on a connection that is idle, just as it is used again.
      connection: 'close',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signMessage([this.secret], { id, timestamp, body }),
    };
    const url = `http://127.0.0.1:${this.#port}/webhooks`;
    return (await fetch(url, { method: 'POST', headers, body })).status;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.kill()) await once(this.#child, 'exit');
    await rm(this.folder, { recursive: true, force: true });
  }
}
