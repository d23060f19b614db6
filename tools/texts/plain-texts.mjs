// @ts-check
import { parse } from '@babel/parser';

/** What is within these is code or data in every language. */
const NOT_WORDED = new Set(['code', 'pre', 'kbd', 'samp']);
const MACROS = /^(?:t|msg|plural|select|selectOrdinal|defineMessage)$/;
const JSX_MACROS = /^(?:Trans|Plural|Select|SelectOrdinal)$/;
/** Attributes and members that programs read. */
const READ_BY_PROGRAMS =
  /^(?:className|id|href|src|type|name|role|rel|target|method|key|htmlFor|autoComplete|inputMode|form|value|style|as|variant|size|tone|kind|d|viewBox|fill|stroke.*|points|transform|preserveAspectRatio|aria-(?:controls|current|live|haspopup|describedby|labelledby|atomic|relevant)|data-.+|timeZone.*|dateStyle|font|mode)$/;
/** Calls whose texts no viewer reads. */
const NOT_SHOWN =
  /^(?:Error|TypeError|querySelector|querySelectorAll|closest|matches|getElementById|addEventListener|removeEventListener|setAttribute|getAttribute|includes|startsWith|endsWith|RegExp|URL|Set|Map|Super)$/;
/** Says why in the same line or the one before: `// untranslated: a header's name`. */
const REASON = /\/\/ untranslated: \S|\/\* untranslated: \S/;
/** Of style sheets. */
const STYLE = /\d+px\b|var\(--|^\(prefers-/;
/** Words with a space between them, one that begins as a sentence does, or one beside a value. */
const WORDED =
  /\p{L}[\p{L}’'.,;:…)]* +[(“]?\p{L}|^\P{L}*\p{Lu}\p{Ll}+[….:?!]?$|^[\p{L}]+…$|^\p{Lu}?\p{Ll}+[:,.]? \{\}|^\{\}[:,.]? \(?\p{Lu}?\p{Ll}+|^\p{Lu}\p{Ll}+ \P{L}+$/u;
/** Members that people read, such as the names of facts. */
const NAME = /^\p{Lu}\p{Ll}+$/u;
const LETTERS = /\p{L}{2}/u;
const KEYS = /^(?:Enter|Escape|Home|End|Tab|Delete|Backspace)$/;

/**
 * Texts of components that are plain strings: no message file has them.
 *
 * @param {string} code
 * @param {string} path
 * @returns {readonly string[]} a line each
 */
export function findPlainTexts(code, path) {
  const lines = code.split('\n');
  const root = parse(code, {
    sourceType: 'module',
    plugins: path.endsWith('x') ? ['typescript', 'jsx'] : ['typescript'],
  });
  /** @type {string[]} */
  const faults = [];
  /** @type {Set<Node>} */
  const shown = new Set();
  walk(root.program, (node, parent, name) => {
    for (const one of textsBesideElements(node, parent)) shown.add(one);
    const text = isName(node, parent, name) ? node.name : textOf(node);
    if (text === undefined) return !isLeftOut(node);
    const isText = shown.has(node) ? LETTERS.test(text) : isWorded(node, text);
    if (isText && !isReadByProgram(node, parent, name)) {
      const line = node.loc.start.line;
      if (![lines[line - 1], lines[line - 2]].some((one) => REASON.test(one ?? '')))
        faults.push(
          `${path}:${line}: plain text “${text.trim().replace(/\s+/g, ' ')}”. Write t\`…\` or <Trans>…</Trans>.`,
        );
    }
    return !isLeftOut(node);
  });
  return faults;
}

/** @typedef {any} Node one of Babel's tree */

/** @param {Node} node @returns {string | undefined} */
function textOf(node) {
  if (node.type === 'JSXText' || node.type === 'StringLiteral') return node.value;
  if (node.type === 'TemplateLiteral')
    return node.quasis.map((/** @type {Node} */ quasi) => quasi.value.cooked).join('{}');
  return undefined;
}

/** In the place of an element: `{isNew ? 'new' : <Time />}`. @param {Node} node @param {Node} parent @returns {readonly Node[]} */
function textsBesideElements(node, parent) {
  const isChild = node.type === 'JSXExpressionContainer' && /^JSX(?:Element|Fragment)$/.test(parent.type);
  const choices = choicesOf(isChild ? node.expression : node);
  if (!isChild && !choices.some(({ type }) => /^JSX(?:Element|Fragment)$/.test(type))) return [];
  return choices.filter(({ type }) => type === 'StringLiteral');
}

/** @param {Node} node @returns {readonly Node[]} */
function choicesOf(node) {
  if (node.type === 'ConditionalExpression') return [node.consequent, node.alternate].flatMap(choicesOf);
  if (node.type === 'LogicalExpression') return [node.left, node.right].flatMap(choicesOf);
  return [node];
}

/** `{ Status: … }`: no programmer's name begins like this. @param {Node} node @param {Node} parent @param {string} name */
function isName(node, parent, name) {
  const isKey = parent.type === 'ObjectProperty' && name === 'key' && !parent.computed && !parent.shorthand;
  return isKey && node.type === 'Identifier' && NAME.test(node.name) && !KEYS.test(node.name);
}

/** @param {Node} node @param {string} text */
function isWorded(node, text) {
  return node.type === 'JSXText' ? LETTERS.test(text) : WORDED.test(text.trim()) && !STYLE.test(text);
}

/** @param {Node} node @param {Node} parent @param {string} name of the node in its parent */
function isReadByProgram(node, parent, name) {
  if (node.type === 'JSXText') return false;
  switch (parent.type) {
    case 'JSXAttribute':
      return READ_BY_PROGRAMS.test(jsxName(parent.name));
    case 'ObjectProperty':
      return name !== 'key' && READ_BY_PROGRAMS.test(parent.key.name ?? parent.key.value ?? '');
    case 'BinaryExpression':
      return /^[!=]==?$|^in$/.test(parent.operator);
    case 'MemberExpression':
    case 'SwitchCase':
    case 'TSEnumMember':
    case 'ImportExpression':
    case 'Directive':
      return true;
    case 'CallExpression':
    case 'NewExpression':
      return NOT_SHOWN.test(calleeOf(parent));
    default:
      return false;
  }
}

/** Its parts are translated, or are nobody's words. @param {Node} node */
function isLeftOut(node) {
  if (node.type === 'JSXElement') {
    const name = jsxName(node.openingElement.name);
    return JSX_MACROS.test(name) || NOT_WORDED.has(name);
  }
  if (node.type === 'TaggedTemplateExpression') return true;
  if (node.type === 'CallExpression') return MACROS.test(calleeOf(node));
  return /^(?:Import|Export(?:All|Named)Declaration$)/.test(node.type)
    ? node.source != null
    : /^TS(?!AsExpression|SatisfiesExpression|NonNullExpression)/.test(node.type);
}

/** @param {Node} node */
function calleeOf({ callee }) {
  return callee.name ?? callee.property?.name ?? callee.type;
}

/** @param {Node} name */
function jsxName(name) {
  if (name.type === 'JSXNamespacedName') return `${name.namespace.name}:${name.name.name}`;
  return typeof name.name === 'string' ? name.name : '';
}

/**
 * @param {Node} node
 * @param {(node: Node, parent: Node, name: string) => boolean} visit whether to look into it
 * @param {Node} parent
 * @param {string} name
 */
function walk(node, visit, parent = {}, name = '') {
  if (!visit(node, parent, name)) return;
  for (const [key, value] of Object.entries(node)) {
    for (const child of Array.isArray(value) ? value : [value])
      if (typeof child?.type === 'string' && child.loc) walk(child, visit, node, key);
  }
}
