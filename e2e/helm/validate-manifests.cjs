// Reads a JSON array of { module, kind, object } from standard input, and writes one of what is wrong with them: the first
// fault of each. `module` is a package of kubernetes-models, found from the working folder.
const { readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { join } = require('node:path');

const requireThere = createRequire(join(process.cwd(), 'package.json'));

const faults = JSON.parse(readFileSync(0, 'utf8')).flatMap(({ module, kind, object }) => {
  try {
    const Model = requireThere(module)[kind];
    new Model(object).validate();
    return [];
  } catch (error) {
    return [`${kind} ${object.metadata.name}: ${error.message}`];
  }
});
process.stdout.write(JSON.stringify(faults));
