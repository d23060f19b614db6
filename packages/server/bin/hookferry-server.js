#!/usr/bin/env node
// npm links this file when it installs. In the tarball its program is in the tree that `bundle` writes, in the repository where it is.
const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');

const isRepository = existsSync(join(__dirname, '../src/service.ts'));
const program = join(__dirname, isRepository ? '../../../tools/serve.mjs' : '../dist/tree/tools/serve.mjs');
void import(pathToFileURL(program).href);
