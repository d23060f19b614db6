import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Image } from './follow-dockerfile';
import type { Command } from './read-dockerfile';

export interface ContainerOptions {
  readonly image: Image;
  /** What the base image's PATH would find: `node`, and nothing else. */
  readonly path: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly confinement: Confinement;
}

/**
 * What the process has as its root file system, which is read-only, and where it has no rights: that of the machine, with the image's
 * files somewhere in it, or the image's, if that is whole. `none`: it runs as this process does.
 */
export type Confinement = 'none' | 'machine' | 'image';

const ASK_EVERY_MS = 50;

/** The process that a container of an image would be: its CMD, its ENV, its WORKDIR, and nothing of ours. */
export class ImageProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<number | null>;
  #output = '';

  constructor(private readonly options: ContainerOptions) {
    if (!options.image.command) throw new Error('The image has no CMD.');
    this.#child = start(options, options.image.command);
    this.#exited = once(this.#child, 'exit').then(([code]) => code as number | null);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#output += chunk.toString();
      });
    }
  }

  /** Asks until it is ready. Rejects with what it wrote once it has ended instead. */
  async waitUntilReady(port: number): Promise<void> {
    while (!this.#hasEnded) {
      const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
      if (response?.ok) return;
      await wait(ASK_EVERY_MS);
    }
    throw new Error(`The process ended with ${String(await this.#exited)}: ${this.#output}`);
  }

  /** Runs the HEALTHCHECK as an engine would; resolves with its exit code. */
  async checkHealth(): Promise<number | null> {
    if (!this.options.image.healthcheck) throw new Error('The image has no HEALTHCHECK.');
    return await this.run(this.options.image.healthcheck);
  }

  /** Runs another program in the same container; resolves with its exit code. */
  async run(command: Command): Promise<number | null> {
    const [code] = await once(start(this.options, command), 'exit');
    return code as number | null;
  }

  /** Sends the image's STOPSIGNAL; resolves with the exit code, or null if the signal ended it. */
  async stop(): Promise<number | null> {
    if (!this.#hasEnded) await this.signal(this.options.image.stopSignal ?? 'SIGTERM');
    return await this.#exited;
  }

  async signal(name: string): Promise<void> {
    process.kill(await this.#processId(), name);
  }

  /** What it has written so far. */
  get output(): string {
    return this.#output;
  }

  async #processId(): Promise<number> {
    const { pid } = this.#child;
    if (pid === undefined) throw new Error('The process did not start.');
    return this.options.confinement === 'none' ? pid : await confinedProcess(pid);
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}

function start(options: ContainerOptions, command: Command): ChildProcess {
  const { image, path, environment, confinement } = options;
  const [program, ...args] = confinement === 'none' ? command : confine(command, image, confinement);
  return spawn(program, args, {
    cwd: join(image.root, image.workdir),
    env: { PATH: path, ...image.environment, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

// The root file system of the machine stands for the container's. /tmp is one of its folders there.
const READ_ONLY =
  'for each in / /tmp; do ! /usr/bin/mountpoint -q "$each" || /usr/bin/mount -o remount,bind,ro "$each"; done';
// What an engine mounts into a container. Links out of the image lead nowhere.
const OWN_ROOT =
  '/usr/bin/mount --bind "$ROOT" "$ROOT"; /usr/bin/mount -t proc proc "$ROOT/proc"; /usr/bin/mount --rbind /dev "$ROOT/dev"; /usr/bin/mount -o remount,bind,ro "$ROOT"';
const NEW_NAMESPACES = ['--mount', '--mount-proc', '--pid', '--fork', '--kill-child'];
const NO_RIGHTS = ['--clear-groups', '--no-new-privs', '--inh-caps=-all', '--bounding-set=-all'];

/**
 * The command as compose.yaml and the Helm chart run it: as process 1 of its own, on a read-only root file system, as a
 * user without rights. Needs root, util-linux and the kernel's leave: see `canConfine`.
 */
function confine(command: Command, image: Image, confinement: 'machine' | 'image'): Command {
  // By number: `1000:1000`.
  const [userId, groupId] = image.user.split(':');
  const asUser = `/usr/bin/setpriv --reuid=${userId} --regid=${groupId} ${NO_RIGHTS.join(' ')} --`;
  const script =
    confinement === 'machine'
      ? `${READ_ONLY}; exec ${asUser} "$@"`
      : `${OWN_ROOT}; exec /usr/sbin/chroot "$ROOT" ${asUser} /usr/bin/env --chdir="$WORKDIR" "$@"`;
  const named = script.replaceAll('$ROOT', image.root).replaceAll('$WORKDIR', image.workdir);
  return ['/usr/bin/unshare', ...NEW_NAMESPACES, '/bin/sh', '-ec', named, 'sh', ...command];
}

export function canConfine(): boolean {
  const image = { root: '/', workdir: '/', environment: {}, args: {}, user: '1000:1000' };
  const [program, ...args] = confine(['/bin/true'], image, 'machine');
  return spawnSync(program, args).status === 0;
}

/** The id, outside, of the process that is number 1 inside: `unshare` itself passes no signal on. */
async function confinedProcess(unshareId: number): Promise<number> {
  const children = await readFile(`/proc/${unshareId}/task/${unshareId}/children`, 'utf8');
  const id = Number(children.trim());
  if (!Number.isInteger(id) || id === 0)
    throw new Error(`Process ${unshareId} has not one child: "${children}".`);
  return id;
}
