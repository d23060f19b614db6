import { execFile } from 'node:child_process';
import { mkdtemp, open, rm, rmdir, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

// More than a run writes, and little enough to be filled at once.
const USUAL_SIZE = '768m';
const FILLER = 'filler';
const CHUNK = Buffer.alloc(4 * 1024 * 1024);

export interface SmallDisk {
  readonly folder: string;
  remove(): Promise<void>;
}

/** A disk of its own for a store, that can be full without anybody else noticing; undefined where none can be mounted. */
export async function mountSmallDisk(size = USUAL_SIZE): Promise<SmallDisk | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'webhooks-small-disk-'));
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'webhooks-faults', folder]);
  } catch {
    await rmdir(folder);
    return undefined;
  }
  const remove = async () => {
    await run('umount', ['-l', folder]);
    await rm(folder, { recursive: true, force: true });
  };
  return { folder, remove };
}

let isPossible: Promise<boolean> | undefined;

/** Whether such disks can be had on this machine. */
export async function isOnSmallDisk(): Promise<boolean> {
  isPossible ??= mountSmallDisk().then(async (disk) => {
    await disk?.remove();
    return disk !== undefined;
  });
  return await isPossible;
}

/** Leaves no byte on the disk that this folder is on. Returns what gives the space back. */
export async function fillDisk(folder: string): Promise<() => Promise<void>> {
  const { blocks, bsize } = await statfs(folder);
  if (blocks * bsize > 1024 ** 3) throw new Error(`${folder} is not on a small disk: it will not be filled.`);
  const path = join(folder, FILLER);
  const file = await open(path, 'w');
  try {
    for (;;) await file.write(CHUNK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    await file.close();
  }
  return async () => await rm(path);
}
