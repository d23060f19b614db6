import { gzipSync } from 'node:zlib';
import type { Plugin, Rollup } from 'vite';

/** By gzip, the larger of the two; the page is to stand within a second on a slow phone. */
const BUDGET_BYTES = 160_000;

/** Of each file that is loaded on demand: the editor is the largest. */
const FILE_BUDGET_BYTES = 150_000;

/** Of the charts, with their style sheet. */
const CHARTS_BUDGET_BYTES = 60_000;
const CHARTS = /^assets\/plot-/;

const REFERENCE = /\b(?:src|href)="\/portal\/([^"]+)"/g;

/** Prints what each file weighs, and fails the build when index.html with all that it names, or one file, is over the budget. */
export function checkFirstLoad(): Plugin {
  return {
    name: 'check-first-load',
    apply: 'build',
    enforce: 'post',
    writeBundle: {
      order: 'post',
      handler(_options, bundle) {
        const sizes = new Map(Object.values(bundle).map((file) => [file.fileName, compressedSize(file)]));
        const named = [...textOf(bundle['index.html']).matchAll(REFERENCE)].map(([, path = '']) => path);
        const first = ['index.html', ...named.filter((path) => sizes.has(path))];
        for (const [path, bytes] of [...sizes].toSorted(([, a], [, b]) => b - a)) {
          this.info(
            `${kilobytes(bytes).padStart(9)}  ${path}${first.includes(path) ? '  (first load)' : ''}`,
          );
        }
        const total = first.reduce((sum, path) => sum + (sizes.get(path) ?? 0), 0);
        this.info(`first load: ${kilobytes(total)} of ${kilobytes(BUDGET_BYTES)}, compressed`);
        for (const [path, bytes] of sizes) {
          if (bytes > FILE_BUDGET_BYTES) this.error(`${path} is over the budget of a file: split it.`);
        }
        const charts = [...sizes]
          .filter(([path]) => CHARTS.test(path))
          .reduce((sum, [, bytes]) => sum + bytes, 0);
        this.info(`charts: ${kilobytes(charts)} of ${kilobytes(CHARTS_BUDGET_BYTES)}, compressed`);
        if (charts === 0)
          this.error('No file is called as those of the charts are: their budget is not looked at.');
        if (charts > CHARTS_BUDGET_BYTES) this.error('The charts are over their budget.');
        if (total > BUDGET_BYTES) {
          this.error('The first load is over its budget: load a page or a component of it later.');
        }
      },
    },
  };
}

type BuiltFile = Rollup.OutputAsset | Rollup.OutputChunk;

const contentOf = (file: BuiltFile) => (file.type === 'chunk' ? file.code : file.source);
const textOf = (file: BuiltFile | undefined) => (file ? contentOf(file).toString() : '');
const compressedSize = (file: BuiltFile) => gzipSync(contentOf(file)).length;
const kilobytes = (bytes: number) => `${(bytes / 1_000).toFixed(1)} kB`;
