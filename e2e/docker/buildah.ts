import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { type Provided, provideProgram, UNBOUNDED } from '../support/provide-program';
import type { Image } from './follow-dockerfile';
import { canConfine } from './image-process';
import { NPM_VERSION } from './npm-of-image';
import type { Command } from './read-dockerfile';

const PROJECT = join(__dirname, '..', '..');
const BASE = 'localhost/stand-in';
/** Where secrets of the build are mounted: docker/Dockerfile says so. */
const AUTHORITY = '/run/secrets/ca';

/** See tools/images/provide-builder.mjs. */
interface Builder {
  readonly buildah: string;
  readonly libraries: string;
  readonly base: string;
}

const commandSchema = z.tuple([z.string()]).rest(z.string());
const imageSchema = z.object({
  Docker: z.object({
    config: z.object({
      User: z.string(),
      WorkingDir: z.string(),
      StopSignal: z.string(),
      Env: z.array(z.string()),
      Cmd: commandSchema,
      Healthcheck: z.object({ Test: commandSchema }),
    }),
  }),
});
const sizesSchema = z.array(z.object({ names: z.array(z.string()).nullish(), size: z.string() }));

/** A `describe` for images that are built here. Skipped, and said, where they can't be. */
export function describeBuilt(what: string, tests: (builder: Builder) => void): void {
  const provided = canConfine() ? provideBuilder() : { refusal: 'it takes root, util-linux and namespaces' };
  if ('program' in provided) {
    describe(what, () => tests(provided.program));
    return;
  }
  process.stderr.write(`SKIPPED: ${what}, because they can't be built here: ${provided.refusal}\n`);
  // oxlint-disable-next-line jest/expect-expect, jest/no-disabled-tests
  it.skip(`${what} (skipped: no Buildah here)`, () => undefined);
}

/** Fetches at the first time, which takes minutes. */
function provideBuilder(): Provided<Builder> {
  const call = `provideBuilder(${JSON.stringify(NPM_VERSION)})`;
  return provideProgram('tools/images/provide-builder.mjs', call, UNBOUNDED);
}

/** Builds images by Buildah without a container engine, and unpacks them. */
export class Buildah {
  /** @param folder an empty one, for all that is stored. */
  constructor(
    private readonly builder: Builder,
    private readonly folder: string,
  ) {}

  /** Makes an image of what stands in for the base image. */
  async importBase(): Promise<void> {
    await writeFile(join(this.folder, 'policy.json'), '{"default":[{"type":"insecureAcceptAnything"}]}');
    await writeFile(join(this.folder, 'registries.conf'), '');
    await writeFile(join(this.folder, '.npmrc'), 'fetch-retries=5\n');
    const { libraries } = this.builder;
    // Buildah starts itself again without our environment, so LD_LIBRARY_PATH would not do.
    if (libraries !== '') await run(['/sbin/ldconfig', '-C', this.#loaderCache, ...libraries.split(':')]);
    const container = await this.#buildah('from', 'scratch');
    await this.#buildah('add', '--quiet', container, this.builder.base, '/');
    const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
    await this.#buildah('config', '--env', `PATH=${path}`, container);
    await this.#buildah('commit', ...this.#policy, '--rm', container, BASE);
  }

  /** Builds a target of docker/Dockerfile as it is: all that differs is what its first FROM names. */
  async build(target: string, args: Readonly<Record<string, string>>): Promise<void> {
    const cache = join(PROJECT, '.cache/npm-of-images');
    await mkdir(cache, { recursive: true });
    const authority = process.env.NODE_EXTRA_CA_CERTS;
    await this.#buildah(
      'build',
      ...['--isolation', 'chroot', '--format', 'docker', '--layers', '--from', BASE, ...this.#policy],
      ...['--file', 'docker/Dockerfile', '--target', target, '--tag', imageOf(target)],
      ...['--volume', `${cache}:/root/.npm`, '--secret', `id=npmrc,src=${join(this.folder, '.npmrc')}`],
      ...Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]),
      ...(authority === undefined
        ? []
        : ['--secret', `id=ca,src=${authority}`, '--build-arg', `NODE_EXTRA_CA_CERTS=${AUTHORITY}`]),
      '.',
    );
  }

  /** As `buildah images` has it: of the image, and of the stand-in below it. */
  async sizesOf(target: string): Promise<{ readonly whole: string; readonly base: string }> {
    const images = sizesSchema.parse(JSON.parse(await this.#buildah('images', '--json')));
    const sizeOf = (name: string) =>
      images.find(({ names }) => names?.includes(`${name}:latest`))?.size ?? 'unknown';
    return { whole: sizeOf(imageOf(target)), base: sizeOf(BASE) };
  }

  /** Its files in a folder, and how a container of it is run. */
  async unpack(target: string): Promise<Image> {
    const described = await this.#buildah('inspect', '--type', 'image', imageOf(target));
    const { config } = imageSchema.parse(JSON.parse(described)).Docker;
    const root = join(this.folder, `image-${target}`);
    await mkdir(root);
    const container = await this.#buildah('from', ...this.#policy, imageOf(target));
    // What is mounted in the mount namespace of a command is gone when it ends.
    await run(
      this.#confined([
        '/bin/sh',
        '-ec',
        'cp -a "$("$@")/." "$0"',
        root,
        ...this.#command('mount', container),
      ]),
    );
    const [, ...healthcheck] = config.Healthcheck.Test;
    return {
      root,
      workdir: config.WorkingDir,
      environment: Object.fromEntries(config.Env.map((each) => each.split(/=(.*)/s).slice(0, 2))) as Record<
        string,
        string
      >,
      args: {},
      user: config.User,
      stopSignal: config.StopSignal,
      command: config.Cmd,
      healthcheck: commandSchema.parse(healthcheck),
    };
  }

  get #loaderCache(): string {
    return join(this.folder, 'ld.so.cache');
  }

  get #policy(): readonly string[] {
    return ['--signature-policy', join(this.folder, 'policy.json')];
  }

  async #buildah(...args: readonly string[]): Promise<string> {
    return (await run(this.#confined(this.#command(...args)))).trim();
  }

  #command(...args: readonly string[]): Command {
    const { folder } = this;
    const storage = [
      '--root',
      join(folder, 'root'),
      '--runroot',
      join(folder, 'run'),
      '--storage-driver',
      'overlay',
    ];
    return [this.builder.buildah, ...storage, '--registries-conf', join(folder, 'registries.conf'), ...args];
  }

  // The loader finds what was unpacked, and no other process does.
  #confined(command: Command): Command {
    const bind = this.builder.libraries === '' ? '' : '/usr/bin/mount --bind "$0" /etc/ld.so.cache; ';
    return [
      '/usr/bin/unshare',
      '--mount',
      '/bin/sh',
      '-ec',
      `${bind}exec "$@"`,
      this.#loaderCache,
      ...command,
    ];
  }
}

function imageOf(target: string): string {
  return `localhost/hookferry-${target}`;
}

async function run([program, ...args]: Command): Promise<string> {
  const child = spawn(program, args, {
    cwd: PROJECT,
    env: { ...process.env, CONTAINERS_CONF: '/dev/null' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close');
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await closed;
  if (code !== 0)
    throw new Error(`${args.at(-1)} of ${program} ended with ${String(code)}:\n${output}${errors}`);
  return output;
}
