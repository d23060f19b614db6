#!/usr/bin/env node
// npm links this file when it installs, at which time nothing is compiled yet.
const { existsSync } = require('node:fs');
const { join } = require('node:path');

// In the repository what the compiler wrote, in the tarball the one file that `bundle` makes of it.
const programs = ['main.js', 'hookferry.js'].map((name) => join(__dirname, '../dist', name));
const program = programs.find((path) => existsSync(path));
if (program !== undefined) {
  require(program);
} else {
  process.stderr.write('This is not compiled yet. Run first: npm run build\n');
  process.exitCode = 1;
}
