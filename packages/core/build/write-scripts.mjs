// @ts-check
/**
 * `npm run scripts`: writes a module of TypeScript, `X.script.ts`, beside each file of scripts for Redis, `X.lua`: the functions
 * that call them. All that compiles runs this first; it writes what has changed only. What the comments of a script say is in
 * `read-tags.mjs`.
 */
import { join } from 'node:path';
import { ScriptFault } from './read-tags.mjs';

// Who installs without what development needs compiles nothing.
const canBeMade = !(process.env['npm_config_omit'] ?? '').includes('dev');

try {
  if (canBeMade) {
    const { writeModules } = await import('./write-modules.mjs');
    writeModules(join(import.meta.dirname, '../src'));
  }
} catch (error) {
  if (!(error instanceof ScriptFault)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
