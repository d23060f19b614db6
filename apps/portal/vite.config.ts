import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { checkFirstLoad } from './build/check-first-load.ts';
import { compressFiles } from './build/compress-files.ts';
import { texts } from './build/texts.ts';

const API_IN_DEVELOPMENT = process.env['HOOKFERRY_URL'] ?? 'http://127.0.0.1:3000';

// From its sources, of which only what is used goes into the bundle.
const CORE = fileURLToPath(new URL('../../packages/core/src', import.meta.url));
const DOCS = fileURLToPath(new URL('../../docs', import.meta.url));

// Those that have light-dark(), so that no colour is written twice.
const BROWSERS = ['es2023', 'chrome123', 'firefox120', 'safari17.5'];

export default defineConfig({
  base: '/portal/',
  resolve: { alias: { '@hookferry/core': CORE, '@docs': DOCS } },
  plugins: [texts(), react(), compressFiles(), checkFirstLoad()],
  build: {
    target: BROWSERS,
    // Nothing is put into the page itself: its security policy takes files of its own origin only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'shared', minShareCount: 5 }] } } },
    // Of every file, by check-first-load.
    reportCompressedSize: false,
  },
  server: { proxy: { '/v1': API_IN_DEVELOPMENT, '/portal/settings.json': API_IN_DEVELOPMENT } },
});
