// @ts-check
import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectFolder } from '../project-folders.mjs';

const FILE = fileURLToPath(new URL('durations.json', import.meta.url));

/** Shorter ones are all much the same. */
const LEAST_SECONDS = 3;

/**
 * How many seconds the longer files of tests took when somebody last wrote it down. They set the order, and nothing else.
 * @returns {Readonly<Record<string, number | undefined>>} by the path of the file in the project
 */
export function readDurations() {
  return JSON.parse(readFileSync(FILE, 'utf8'));
}

/**
 * Writes down how long files took. Others keep what they had, if they are still there.
 * @param {readonly import('@jest/test-result').TestResult[]} results
 */
export function writeDurations(results) {
  const seconds = new Map(Object.entries(readDurations()));
  for (const { testFilePath, perfStats } of results)
    seconds.set(relative(projectFolder, testFilePath), Math.round(perfStats.runtime / 1_000));
  const long = [...seconds]
    .filter(([, took = 0]) => took >= LEAST_SECONDS)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(long), null, 2)}\n`);
}
