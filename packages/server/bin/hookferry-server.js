#!/usr/bin/env node
// npm links this file when it installs. In the tarball its program is in the tree that `prepack` writes, in the repository where it is.
const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');

const programs = ['../dist/tree/tools/serve.mjs', '../../../tools/serve.mjs'].map((path) =>
  join(__dirname, path),
);
const program = programs.find((path) => existsSync(path));
if (program === undefined) throw new Error('This package is not whole: install it again.');
void import(pathToFileURL(program).href);
