// @ts-check

/** @typedef {import('./lock-file.mjs').LockedPackage} LockedPackage */

/**
 * @typedef {{ name: string, value: string }} Property
 * @typedef {{ 'bom-ref': string, name: string, scope?: string, properties?: Property[] }} Component
 * @typedef {{ ref: string, dependsOn?: string[] }} Dependency
 * @typedef {{ metadata: { component: Component }, components: Component[], dependencies: Dependency[] }} Document
 */

/**
 * Of the packages for development, what goes into an image all the same: the page at /docs is one file of the first, and
 * the portal's bundle is made of the others.
 */
export const SHIPPED = new Set([
  'redoc',
  '@base-ui/react',
  '@base-ui/utils',
  '@floating-ui/core',
  '@floating-ui/dom',
  '@floating-ui/react-dom',
  '@floating-ui/utils',
  '@tanstack/query-core',
  '@tanstack/react-query',
  '@tanstack/react-virtual',
  '@tanstack/virtual-core',
  'react',
  'react-dom',
  'regexparam',
  'scheduler',
  'use-sync-external-store',
  'wouter',
]);
const FOR_DEVELOPMENT = 'cdx:npm:package:development';

/**
 * A CycloneDX document of npm's without what is needed for development only. The lock file says what that is: npm lists
 * a version that stands in two places once, and with the mark of the first.
 * @param {Document} document
 * @param {readonly LockedPackage[]} packages
 * @returns {Document}
 */
export function keepWhatIsShipped(document, packages) {
  const ofDevelopment = refsOf(packages.filter((each) => !each.isForProduction && !SHIPPED.has(each.name)));
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
