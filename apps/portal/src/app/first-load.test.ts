import { randomBytes } from 'node:crypto';
import { type BuiltFiles, loadsOf } from '../../build/check-first-load.ts';

/** Of so many bytes when it is compressed, and hardly more. */
const codeOf = (bytes: number) => randomBytes(bytes).toString('base64');

function chunk(
  fileName: string,
  bytes: number,
  imports: readonly string[] = [],
  source = '',
  styles: readonly string[] = [],
) {
  const viteMetadata = { importedCss: new Set(styles), importedAssets: new Set() };
  return { type: 'chunk', fileName, code: codeOf(bytes), imports, facadeModuleId: source, viteMetadata };
}

const asset = (fileName: string, source: string) => ({ type: 'asset', fileName, source });

function build(): BuiltFiles {
  const files = [
    asset('index.html', '<script src="/portal/assets/index.js"></script>'),
    chunk('assets/index.js', 10_000, ['assets/shared.js']),
    chunk('assets/shared.js', 20_000),
    chunk('assets/overview.js', 5_000, ['assets/table.js'], '/p/src/pages/overview/overview-page.tsx', [
      'assets/o.css',
    ]),
    chunk('assets/table.js', 7_000, ['assets/shared.js']),
    asset('assets/o.css', codeOf(3_000)),
    chunk('assets/panels.js', 4_000, ['assets/table.js'], '/p/src/pages/overview/overview-panels.tsx'),
    chunk('assets/modal.js', 9_000, ['assets/shared.js'], '/p/src/components/modal-window.tsx'),
    chunk('assets/plot-x.js', 30_000),
    chunk('assets/editor.js', 170_000),
  ];
  return Object.fromEntries(files.map((file) => [file.fileName, file])) as unknown as BuiltFiles;
}

const thousandsOf = (name: string) =>
  Math.round((loadsOf(build()).find((load) => load.name === name)?.bytes ?? 0) / 1_000);

describe('the loads of a build', () => {
  it('have for each page all that it needs before it runs, and its panels, each file once', () => {
    expect(thousandsOf('first load of overview-page')).toBe(10 + 20 + 5 + 7 + 3 + 4);
  });

  it('have what is loaded ahead without what is there by then, and the charts', () => {
    expect(thousandsOf('loaded ahead')).toBe(5 + 7 + 3 + 4 + 9);
    expect(thousandsOf('charts')).toBe(30);
  });

  it('have a bound, which one file here is over', () => {
    const over = loadsOf(build()).filter(({ bytes, bound }) => bytes > bound);
    expect(over.map(({ name }) => name)).toEqual(['editor.js']);
  });

  it('are not known where files are called otherwise: then nothing would be looked at', () => {
    const { 'assets/plot-x.js': _plot, ...without } = build();
    expect(() => loadsOf(without)).toThrow('their bounds are not looked at');
  });
});
