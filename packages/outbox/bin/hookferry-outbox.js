#!/usr/bin/env node
// npm links this file when it installs, at which time nothing is compiled yet.
const { existsSync } = require('node:fs');
const { join } = require('node:path');

const program = join(__dirname, '../dist/main.js');
if (existsSync(program)) {
  require(program);
} else {
  process.stderr.write('This is not compiled yet. Run first: npm run build\n');
  process.exitCode = 1;
}
