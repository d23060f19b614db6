// @ts-check
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the repository, without a slash at its end. */
export const projectFolder = fileURLToPath(new URL('..', import.meta.url)).replace(/[/\\]$/, '');

/** What can be fetched or made again at any time; ignored by git. */
export let cacheFolder = join(projectFolder, '.cache');

/** Outside of the repository there may be no right to write beside the program. @param {string} folder */
export function keepFetchedIn(folder) {
  cacheFolder = folder;
}

/** Where node finds what package `name` brings to the command line. @param {string} name */
export const installedProgram = (name) => join(projectFolder, 'node_modules', '.bin', name);
