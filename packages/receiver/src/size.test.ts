import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { buildSync } from 'esbuild';

const MAX_BYTES = 3_584;

it('costs a bundle at most 3.5 KB, and needs nothing of Node', () => {
  const { outputFiles } = buildSync({
    entryPoints: [join(__dirname, 'index.ts')],
    bundle: true,
    minify: true,
    format: 'esm',
    // For which esbuild knows no `node:` modules: an import of one fails.
    platform: 'browser',
    write: false,
  });
  const code = outputFiles[0]?.contents ?? new Uint8Array();
  expect(code.length).toBeGreaterThan(1_000);
  expect(gzipSync(code).length).toBeLessThanOrEqual(MAX_BYTES);
  expect(brotliCompressSync(code).length).toBeLessThanOrEqual(MAX_BYTES);
});
