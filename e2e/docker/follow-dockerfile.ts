import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, posix } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { type Command, type Instruction, readDockerfile, type Stage } from './read-dockerfile';

/** What a stage comes to: a file system below `root`, and how a container of it is run. */
export interface Image {
  readonly root: string;
  readonly workdir: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Of the build, as far as this stage declares them. */
  readonly args: Readonly<Record<string, string>>;
  readonly user: string;
  readonly stopSignal?: string;
  readonly command?: Command;
  readonly healthcheck?: Command;
}

export interface FollowOptions {
  /** The build context. */
  readonly context: string;
  readonly dockerfile: string;
  /** An empty folder, in which each stage gets one. */
  readonly output: string;
  /** As `--build-arg` gives them. */
  readonly args: Readonly<Record<string, string>>;
  /** For the RUN steps, in place of what the base image has. */
  readonly environment: Readonly<Record<string, string>>;
}

type Copy = Extract<Instruction, { kind: 'copy' }>;

/** What would be done to this machine: commands for the base image, and absolute paths. */
const OUTSIDE = /\b(apt-get|apk|adduser|useradd|groupadd|chown)\b|(^|[\s'"=])\//;

/**
 * Builds what a Dockerfile describes, step by step, without a container engine: each stage in a folder of its
 * own, its commands run by this machine's Node.js and shell. An image that a FROM names is an empty folder.
 */
export class DockerfileFollower {
  readonly #images = new Map<string, Promise<Image>>();
  readonly #stages: Promise<readonly Stage[]>;
  readonly #isIgnored: Promise<(path: string) => boolean>;

  constructor(private readonly options: FollowOptions) {
    this.#stages = readFile(join(options.context, options.dockerfile), 'utf8').then(readDockerfile);
    this.#isIgnored = readFile(join(options.context, '.dockerignore'), 'utf8').then(readDockerIgnore);
  }

  /** Builds a stage and the stages that it needs, each once. */
  build(name: string): Promise<Image> {
    const known = this.#images.get(name);
    if (known) return known;
    const image = this.#buildStage(name);
    this.#images.set(name, image);
    return image;
  }

  async #buildStage(name: string): Promise<Image> {
    const stage = (await this.#stages).find((candidate) => candidate.name === name);
    if (!stage) throw new Error(`The Dockerfile has no stage "${name}".`);
    const root = join(this.options.output, name);
    await mkdir(root);
    let image = await this.#start(stage, root);
    for (const instruction of stage.instructions) image = await this.#follow(instruction, image, stage);
    return image;
  }

  async #start(stage: Stage, root: string): Promise<Image> {
    const { from } = stage;
    if (!(await this.#stages).some(({ name }) => name === from))
      return { root, workdir: '/', environment: {}, args: {}, user: 'root' };
    const parent = await this.build(from);
    if (hasCommands(stage)) await copyTree(parent.root, root);
    else await linkTree(parent.root, root);
    return { ...parent, args: {}, root };
  }

  async #follow(instruction: Instruction, image: Image, stage: Stage): Promise<Image> {
    switch (instruction.kind) {
      case 'workdir': {
        const workdir = posix.resolve(image.workdir, instruction.path);
        await mkdir(join(image.root, workdir), { recursive: true });
        return { ...image, workdir };
      }
      case 'copy':
        await this.#copy(instruction, image, stage);
        return image;
      case 'run':
        await this.#run(instruction.command, image);
        return image;
      case 'env':
        return {
          ...image,
          environment: { ...image.environment, [instruction.name]: valueOf(instruction.value, image) },
        };
      case 'arg': {
        const { name, value } = instruction;
        return { ...image, args: { ...image.args, [name]: this.options.args[name] ?? value } };
      }
      case 'user':
        return { ...image, user: instruction.name };
      case 'label':
      case 'expose':
        return image;
      case 'stopsignal':
        return { ...image, stopSignal: instruction.signal };
      case 'healthcheck':
        return { ...image, healthcheck: instruction.command };
      case 'cmd':
        return { ...image, command: instruction.command };
    }
  }

  async #copy({ from, sources, destination }: Copy, image: Image, stage: Stage): Promise<void> {
    const target = join(image.root, posix.resolve(image.workdir, destination));
    const intoFolder = destination.endsWith('/') || sources.length > 1;
    const base = from === undefined ? this.options.context : (await this.build(from)).root;
    for (const source of sources) {
      const path = posix.normalize(source).replace(/^\//, '');
      const isFolder = (await stat(join(base, path))).isDirectory();
      // As Docker does: of a folder its content, a file under its name if the destination is a folder.
      const to = !isFolder && intoFolder ? join(target, basename(path)) : target;
      if (from === undefined) await this.#copyFromContext(path, to);
      else if (hasCommands(stage)) await copyTree(join(base, path), to);
      else await linkTree(join(base, path), to);
    }
  }

  async #copyFromContext(path: string, to: string): Promise<void> {
    const isIgnored = await this.#isIgnored;
    if (isIgnored(path)) throw new Error(`COPY ${path}: .dockerignore leaves it out.`);
    const takes = (part: string) => !isIgnored(part === '' ? path : `${path}/${part}`);
    await copyTree(join(this.options.context, path), to, takes);
  }

  async #run(command: string, image: Image): Promise<void> {
    if (OUTSIDE.test(command)) throw new Error(`This can't be followed: RUN ${command}`);
    const child = spawn('/bin/sh', ['-c', `umask 022; ${command}`], {
      cwd: join(image.root, image.workdir),
      env: { ...this.options.environment, ...image.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const closed = once(child, 'close');
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const [code] = await closed;
    if (code !== 0) throw new Error(`RUN ${command} ended with ${String(code)}:\n${output}${errors}`);
  }
}

function valueOf(written: string, { args }: Image): string {
  if (!written.startsWith('$')) return written;
  const value = args[written.slice(1)];
  if (value === undefined) throw new Error(`There is no ARG for ${written}.`);
  return value;
}

// A command may write to any file, and a stage must not change another one.
function hasCommands({ instructions }: Stage): boolean {
  return instructions.some(({ kind }) => kind === 'run');
}

export interface ImageFile {
  /** Below the image's root, without a slash at the beginning. */
  readonly path: string;
  readonly bytes: number;
  readonly mode: number;
  readonly isLink: boolean;
}

/** Every file and link of an image. */
export async function listFiles({ root }: Image): Promise<readonly ImageFile[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return await Promise.all(
    entries
      .filter((entry) => !entry.isDirectory())
      .map(async (entry) => {
        const path = join(entry.parentPath, entry.name);
        const { size, mode } = await stat(path);
        return { path: path.slice(root.length + 1), bytes: size, mode, isLink: entry.isSymbolicLink() };
      }),
  );
}

/** @param takes is asked with the path below `from`, `''` being `from` itself. */
async function copyTree(
  from: string,
  to: string,
  takes: (path: string) => boolean = () => true,
): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await cp(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => takes(source.slice(from.length + 1)),
  });
}

/** The same in a tenth of the time, by hard links: only for what nobody writes to afterwards. */
async function linkTree(from: string, to: string): Promise<void> {
  const isFolder = (await stat(from)).isDirectory();
  await mkdir(isFolder ? to : dirname(to), { recursive: true });
  await promisify(execFile)('cp', ['-RPlf', isFolder ? `${from}/.` : from, to]);
}

/** Tells of a path in the build context whether `.dockerignore` leaves it out. The last rule that fits decides. */
export function readDockerIgnore(file: string): (path: string) => boolean {
  const rules = file
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ ignores: !line.startsWith('!'), pattern: toPattern(line.replace(/^!/, '')) }));
  return (path) => {
    const within = withParents(path);
    return rules.findLast(({ pattern }) => within.some((part) => pattern.test(part)))?.ignores ?? false;
  };
}

// A rule for a folder is one for all that is in it.
function withParents(path: string): string[] {
  const parts = path.split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

function toPattern(glob: string): RegExp {
  const source = glob.replaceAll(/\*\*\/|\*\*|\*|\?|[.+^${}()|[\]\\]/g, (part) => {
    if (part === '**/') return '(?:.*/)?';
    if (part === '**') return '.*';
    if (part === '*') return '[^/]*';
    if (part === '?') return '[^/]';
    return `\\${part}`;
  });
  return new RegExp(`^${source}$`);
}
