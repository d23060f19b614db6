// @ts-check
/**
 * `npm run sbom`: writes what the programs are made of as a CycloneDX document (JSON) to sbom.cdx.json, or to the file
 * that is named: `npm run sbom -- FILE`. Read from the lock file alone: no network, and what is installed does not count.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeError, Problem } from './problem.mjs';
import { projectFolder } from './project-folders.mjs';
import { runQuietly } from './setup/run-command.mjs';
import { keepWhatIsShipped } from './supply/keep-what-is-shipped.mjs';
import { readLockFile } from './supply/lock-file.mjs';

// All of it: with `--omit dev` npm (11.19) leaves out what development needs as well, such as pg-protocol.
const SBOM = /** @type {const} */ (['npm', 'sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']);

try {
  const file = process.argv[2] ?? join(projectFolder, 'sbom.cdx.json');
  const { code, output, errors } = await runQuietly(SBOM);
  if (code !== 0) throw new Problem(`npm could not write the list:\n${errors}`);
  const packages = await readLockFile(join(projectFolder, 'package-lock.json'));
  const document = keepWhatIsShipped(JSON.parse(output), packages);
  await writeFile(file, `${JSON.stringify(document, null, 2)}\n`);
  process.stdout.write(`${document.components.length} components in ${file}\n`);
} catch (error) {
  process.stderr.write(`${describeError(error)}\n`);
  process.exitCode = 1;
}
