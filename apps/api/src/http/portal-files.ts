import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { type Coding, codings } from './choose-coding';

/** A file of the portal, in each coding that it was built in. */
export interface PortalFile {
  /** With the dot. */
  readonly extension: string;
  /** Of what it says, whatever the coding. */
  readonly version: string;
  readonly bytes: Readonly<Partial<Record<Coding, Buffer>>> & { readonly identity: Buffer };
}

/** By its path below the portal's, such as `assets/index-B2x9.js`. */
export type PortalFiles = ReadonlyMap<string, PortalFile>;

export const INDEX = 'index.html';

const EXTENSIONS = { br: '.br', gzip: '.gz' } as const;

/**
 * Reads what the portal's build has left in the folder; `undefined` if it has not been built. What is not among these files
 * can't be asked for, whatever its path: no request leads to the disk.
 */
export function readPortalFiles(folder: string): PortalFiles | undefined {
  if (!existsSync(join(folder, INDEX))) return undefined;
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !isEncoded(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(paths.map((path) => [relative(folder, path).split(sep).join('/'), readPortalFile(path)]));
}

function isEncoded(name: string): boolean {
  return Object.values(EXTENSIONS).some((extension) => name.endsWith(extension));
}

function readPortalFile(path: string): PortalFile {
  const identity = readFileSync(path);
  return {
    extension: extname(path),
    version: createHash('sha256').update(identity).digest('base64url').slice(0, 22),
    bytes: { identity, ...readEncoded(path, 'br'), ...readEncoded(path, 'gzip') },
  };
}

function readEncoded(path: string, coding: keyof typeof EXTENSIONS): Partial<Record<Coding, Buffer>> {
  const encoded = path + EXTENSIONS[coding];
  return existsSync(encoded) ? { [coding]: readFileSync(encoded) } : {};
}

export function codingsOf({ bytes }: PortalFile): readonly Coding[] {
  return codings.filter((coding) => bytes[coding] !== undefined);
}
