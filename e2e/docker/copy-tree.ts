import { execFile } from 'node:child_process';
import { cp, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** @param takes is asked with the path below `from`, `''` being `from` itself. */
export async function copyTree(
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
export async function linkTree(from: string, to: string): Promise<void> {
  const isFolder = (await stat(from)).isDirectory();
  await mkdir(isFolder ? to : dirname(to), { recursive: true });
  await run('cp', ['-RPlf', isFolder ? `${from}/.` : from, to]);
}
