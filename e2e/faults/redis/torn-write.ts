import { appendFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The file that Redis appends to, of a server whose data are in this folder. */
export async function findAppendOnlyFile(folder: string): Promise<string> {
  const aof = join(folder, 'appendonlydir');
  const newest = (await readdir(aof))
    .filter((name) => name.endsWith('.incr.aof'))
    .sort(bySequence)
    .at(-1);
  if (newest === undefined) throw new Error(`There is no append-only file in ${aof}.`);
  return join(aof, newest);
}

/** Ends the append-only file with half of a command, as a write that broke off would. */
export async function tearLastWrite(folder: string): Promise<void> {
  await appendFile(await findAppendOnlyFile(folder), '*3\r\n$3\r\nSET\r\n$9\r\ntorn-wri');
}

// appendonly.aof.12.incr.aof
function bySequence(a: string, b: string): number {
  const of = (name: string) => Number(/\.(\d+)\.incr/.exec(name)?.[1] ?? 0);
  return of(a) - of(b);
}
