import { randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { UsageError } from '../failures/usage-error';
import { formatProfiles, NO_PROFILES, type Profiles, parseProfiles } from './profiles';

const OTHERS = 0o077;

/** The profiles as they are kept on this machine, for the user's eyes alone. */
export class ProfileFile {
  constructor(
    readonly path: string,
    private readonly platform: NodeJS.Platform = process.platform,
  ) {}

  /** @throws UsageError if others can read the file, or it is not one of ours. */
  async read(): Promise<Profiles> {
    const text = await this.#readText();
    if (text === undefined) return NO_PROFILES;
    const profiles = parseProfiles(text);
    if (profiles !== undefined) return profiles;
    throw new UsageError(
      `${this.path} is not a valid file of profiles.`,
      'Move it away, then run: hookferry login',
    );
  }

  // Written to another file and renamed, so that concurrent readers find a complete file.
  async write(profiles: Profiles): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
    const temporary = `${this.path}.${randomUUID()}`;
    try {
      await writeFile(temporary, formatProfiles(profiles), { mode: 0o600, flag: 'wx' });
      await rename(temporary, this.path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  async #readText(): Promise<string | undefined> {
    const file = await openIfThere(this.path);
    if (file === undefined) return undefined;
    try {
      const { mode } = await file.stat();
      // Windows has no such bits; %APPDATA% is the user's own there.
      if (this.platform !== 'win32' && (mode & OTHERS) !== 0) {
        throw new UsageError(
          `Others on this machine can read the keys in ${this.path}.`,
          `Restrict it: chmod 600 "${this.path}". Then replace the keys, if somebody may have read them.`,
        );
      }
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  }
}

async function openIfThere(path: string) {
  try {
    return await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
