import { basename } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Plugin, Rollup } from 'vite';

/** Bytes by gzip, of script, style and page together. */
const BOUNDS = {
  /** The address of any page: all that is loaded before somebody does something. It is to stand within a second on a slow phone. */
  firstLoad: 160_000,
  /** Loaded once the first page stands: the code of all other pages. */
  ahead: 200_000,
  /** On the pages that have charts. */
  charts: 60_000,
  /** Any other file that is loaded on demand: the code editor is the largest. */
  file: 150_000,
};

const CHARTS = /^assets\/plot-/;
const REFERENCE = /\b(?:src|href)="\/portal\/([^"]+)"/g;
/** What `useLoadedAhead` loads beside the pages. */
const PART = /\/src\/components\/(?:modal-window|tip-popup)\.tsx$/;
const PAGE = /\/src\/(?:.*\/)?([^/]+-page)\.tsx$/;
/** What the page of the same name loads as soon as it is there, so that it need not wait for it. */
const PANELS = /\/src\/(?:.*\/)?([^/]+)-panels\.tsx$/;

type BuiltFile = Rollup.OutputAsset | Rollup.OutputChunk;
export type BuiltFiles = Readonly<Record<string, BuiltFile>>;

/** A sum that has a bound. */
export interface Load {
  readonly name: string;
  readonly bytes: number;
  readonly bound: number;
}

/** Prints what each file weighs, and fails the build when a page, the charts, one file, or what is loaded ahead is over its bound. */
export function checkFirstLoad(): Plugin {
  return {
    name: 'check-first-load',
    apply: 'build',
    enforce: 'post',
    writeBundle: {
      order: 'post',
      handler(_options, bundle) {
        const loads = loadsOf(bundle);
        for (const { name, bytes, bound } of loads.toSorted((one, other) => other.bytes - one.bytes)) {
          this.info(`${kilobytes(bytes).padStart(9)} of ${kilobytes(bound)}, compressed: ${name}`);
        }
        const over = loads.filter(({ bytes, bound }) => bytes > bound);
        if (over.length > 0) {
          const names = over.map(({ name }) => name).join(', ');
          this.error(`Over the bound: ${names}. Load a part of it later, or import less.`);
        }
      },
    },
  };
}

/** What a browser loads of a build, and the bound of each. @throws Error if the build has no pages or no charts, as files were renamed. */
export function loadsOf(bundle: BuiltFiles): readonly Load[] {
  const sizes = new Map(Object.values(bundle).map((file) => [file.fileName, compressedSize(file)]));
  const sumOf = (paths: ReadonlySet<string>) =>
    [...paths].reduce((sum, path) => sum + (sizes.get(path) ?? 0), 0);
  const named = [...textOf(bundle['index.html']).matchAll(REFERENCE)].map(([, path = '']) => path);
  const start = new Set(['index.html', ...named].flatMap((path) => [...withImports(path, bundle)]));
  const withNames = (pattern: RegExp) =>
    Object.values(bundle).flatMap((file) => {
      const found = file.type === 'chunk' && pattern.exec(file.facadeModuleId ?? '');
      return found ? [{ name: found[1] ?? '', files: withImports(file.fileName, bundle) }] : [];
    });
  const panels = withNames(PANELS);
  const pages = withNames(PAGE).map(({ name, files }) => {
    const own = panels.find((each) => name === `${each.name}-page`)?.files ?? [];
    return { name, files: new Set([...files, ...own]) };
  });
  const charts = new Set([...sizes.keys()].filter((path) => CHARTS.test(path)));
  if (pages.length === 0 || charts.size === 0)
    throw new Error('No file is called as those of pages or charts are: their bounds are not looked at.');
  const parts = Object.values(bundle).flatMap((file) =>
    file.type === 'chunk' && PART.test(file.facadeModuleId ?? '') ? [withImports(file.fileName, bundle)] : [],
  );
  const later = [...pages.map(({ files }) => files), ...parts].flatMap((files) => [...files]);
  const ahead = new Set(later.filter((path) => !start.has(path)));
  return [
    ...pages.map(({ name, files }) => ({
      name: `first load of ${name}`,
      bytes: sumOf(new Set([...start, ...files])),
      bound: BOUNDS.firstLoad,
    })),
    { name: 'loaded ahead', bytes: sumOf(ahead), bound: BOUNDS.ahead },
    { name: 'charts', bytes: sumOf(charts), bound: BOUNDS.charts },
    ...[...sizes].map(([path, bytes]) => ({ name: basename(path), bytes, bound: BOUNDS.file })),
  ];
}

/** A file with all that it needs before it runs. */
function withImports(path: string, bundle: BuiltFiles, found = new Set<string>()): ReadonlySet<string> {
  const file = bundle[path];
  if (!file || found.has(path)) return found;
  found.add(path);
  if (file.type === 'asset') return found;
  for (const style of file.viteMetadata?.importedCss ?? []) found.add(style);
  for (const imported of file.imports) withImports(imported, bundle, found);
  return found;
}

const contentOf = (file: BuiltFile) => (file.type === 'chunk' ? file.code : file.source);
const textOf = (file: BuiltFile | undefined) => (file ? contentOf(file).toString() : '');
const compressedSize = (file: BuiltFile) => gzipSync(contentOf(file)).length;
const kilobytes = (bytes: number) => `${(bytes / 1_000).toFixed(1)} kB`;
