// @ts-check
/**
 * `npm run sbom`: writes what the programs are made of as a CycloneDX document (JSON) to sbom.cdx.json, or to the file
 * that is named: `npm run sbom -- FILE`. Read from the lock file alone: no network, and what is installed does not count.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readLockFile } from './lock-file.mjs';
import { describeError, Problem } from './problem.mjs';
import { projectFolder } from './project-folders.mjs';
import { runQuietly } from './setup/run-command.mjs';

// All of it: with `--omit dev` npm (11.19) leaves out what development needs as well, such as pg-protocol.
const SBOM = /** @type {const} */ (['npm', 'sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']);

const FOR_DEVELOPMENT = 'cdx:npm:package:development';

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

/** @typedef {import('./lock-file.mjs').LockedPackage} LockedPackage */

/**
 * @typedef {{ name: string, value: string }} Property
 * @typedef {{ 'bom-ref': string, name: string, scope?: string, properties?: Property[] }} Component
 * @typedef {{ ref: string, dependsOn?: string[] }} Dependency
 * @typedef {{ metadata: { component: Component }, components: Component[], dependencies: Dependency[] }} Document
 */

/**
 * A CycloneDX document of npm's without what is needed for development only. The lock file says what that is: npm lists
 * a version that stands in two places once, and with the mark of the first.
 * @param {Document} document
 * @param {readonly LockedPackage[]} packages
 * @returns {Document}
 */
function keepWhatIsShipped(document, packages) {
  const ofDevelopment = refsOf(packages.filter((each) => !each.isForProduction && !each.isBundled));
  const ofProduction = refsOf(packages.filter(({ isForProduction }) => isForProduction));
  const { component } = document.metadata;
  const components = document.components
    .filter((each) => ofProduction.has(each['bom-ref']) || !ofDevelopment.has(each['bom-ref']))
    .map((each) => (ofProduction.has(each['bom-ref']) ? withoutMark(each) : each));
  const known = new Set([component, ...components].map((each) => each['bom-ref']));
  return {
    ...document,
    // npm takes the name of the folder.
    metadata: { ...document.metadata, component: { ...component, name: nameOf(component) } },
    components,
    dependencies: document.dependencies
      .filter(({ ref }) => known.has(ref))
      .map((each) => ({ ...each, dependsOn: (each.dependsOn ?? []).filter((ref) => known.has(ref)) })),
  };
}

/** @param {readonly LockedPackage[]} packages */
function refsOf(packages) {
  return new Set(packages.map(({ name, version }) => `${name}@${version}`));
}

/** @param {Component} component */
function withoutMark(component) {
  const properties = component.properties?.filter(({ name }) => name !== FOR_DEVELOPMENT) ?? [];
  const isMarked = properties.length !== (component.properties?.length ?? 0);
  return isMarked ? { ...component, scope: 'required', properties } : component;
}

/** @param {Component} component */
function nameOf(component) {
  const ref = component['bom-ref'];
  return ref.slice(0, ref.lastIndexOf('@'));
}
