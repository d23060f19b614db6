// @ts-check
/**
 * `npm run released`, at a release: keeps the description of the API as it is released, for the test that refuses breaking
 * changes. Without its texts and examples, which may change.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const TEXTS = new Set(['description', 'summary', 'example', 'info', 'tags', 'servers', 'license']);

const document = JSON.parse(readFileSync(new URL('../docs/openapi.json', import.meta.url), 'utf8'));
writeFileSync(
  new URL('../apps/api/released-openapi.json', import.meta.url),
  `${JSON.stringify(withoutTexts(document), null, 1)}\n`,
);

/**
 * @param {unknown} node
 * @param {string} [parent] the name of the member that it is
 * @returns {unknown}
 */
function withoutTexts(node, parent = '') {
  if (Array.isArray(node)) return node.map((item) => withoutTexts(item));
  if (typeof node !== 'object' || node === null) return node;
  // There a name is a member of a client's data, and no text.
  const areNames = parent === 'properties' || parent === 'schemas';
  const kept = Object.entries(node).filter(([name]) => areNames || !TEXTS.has(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, withoutTexts(value, areNames ? '' : name)]));
}
