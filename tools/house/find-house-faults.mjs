// @ts-check

/** @typedef {import('./read-imports.mjs').SourceFile} SourceFile */

/** @param {string} path */
const folderOf = (path) => path.split('/')[0] ?? '';

/**
 * Imports of the core that go up, or to where no product code may.
 * @param {readonly SourceFile[]} sources
 * @param {readonly string[]} order
 * @returns {readonly string[]} a line for each
 */
export function findFolderFaults(sources, order) {
  return sources.flatMap(({ path, own }) => {
    const folder = folderOf(path);
    if (!order.includes(folder)) return [`${path}: "${folder}" is none of the folders that have a place`];
    return own.flatMap((target) => {
      const other = folderOf(target);
      if (other === 'testing') return [`${path}: product code imports ${target}`];
      return order.indexOf(other) > order.indexOf(folder) ? [`${path}: goes up, to ${target}`] : [];
    });
  });
}

/**
 * Which folders each one imports from, in their order.
 * @param {readonly SourceFile[]} sources
 * @param {readonly string[]} order
 * @returns {ReadonlyMap<string, readonly string[]>}
 */
export function usesOfFolders(sources, order) {
  return new Map(
    order.map((folder) => {
      const files = sources.filter(({ path }) => folderOf(path) === folder);
      const used = new Set(files.flatMap(({ own }) => own.map(folderOf)));
      return [folder, order.filter((other) => other !== folder && used.has(other))];
    }),
  );
}

// Without an ending in between: what a package offers is named by its `exports`.
const INSIDE_A_PACKAGE = /^@hookferry\/[a-z-]+\/(src|dist)\//;

/**
 * What no product code does, wherever it is.
 * @param {readonly SourceFile[]} sources
 * @param {string} clock the only file that asks what time it is
 * @returns {readonly string[]} a line for each
 */
export function findCommonFaults(sources, clock) {
  return sources.flatMap(({ path, text, imports, own }) => [
    ...(path !== clock && /\bDate\.now\b/.test(text) ? [`${path}: asks Date.now, and not the clock`] : []),
    ...own
      .filter((target) => target.startsWith('../'))
      .map((target) => `${path}: leaves its package, to ${target}`),
    ...imports.filter((name) => INSIDE_A_PACKAGE.test(name)).map((name) => `${path}: reaches into ${name}`),
    ...imports
      .filter((name) => name.includes('/testing/'))
      .map((name) => `${path}: product code imports ${name}`),
  ]);
}
