#!/usr/bin/env node
// npm links this file when it installs, at which time nothing is compiled yet.
require('../dist/main.js');
