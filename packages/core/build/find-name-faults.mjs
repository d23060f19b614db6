// @ts-check
import { dirname, join } from 'node:path';
import { childrenOf } from './expand-lua.mjs';

/** @typedef {import('./expand-lua.mjs').LuaFile} LuaFile */
/** @typedef {import('./expand-lua.mjs').Library} Library */
/** @typedef {import('./expand-lua.mjs').Node} Node */
/** @typedef {{ line: number, what: string }} Fault */
/** @typedef {{ line: number, isUsed: boolean }} Local */

/**
 * Names of a file that it does not use, or that hide another one. A local name that begins with `_` says that it is not used.
 *
 * @param {LuaFile} file
 * @param {readonly Library[]} known its helpers, and those of all files that it includes
 * @returns {{ faults: readonly Fault[], usedNames: ReadonlySet<string> }} `usedNames`: of what is outside of its functions
 */
export function findNameFaults({ path, tags, helpers, scripts }, known) {
  /** @type {Fault[]} */
  const faults = [];
  /** @type {Set<string>} */
  const usedNames = new Set();
  const outer = new Set(
    [...known.map(({ helper }) => helper), ...tags.constants, ...tags.records].map(({ name }) => name),
  );
  /** The inner ones first. @type {Map<string, Local>[]} */
  const scopes = [];
  for (const { node } of helpers) visit(node.type === 'LocalStatement' ? node.init : node);
  // The first key of a script also says where Redis has the others.
  for (const { node } of scripts) visitFunction(node, node.parameters.slice(0, 1));
  for (const { name, line } of tags.constants) {
    if (!usedNames.has(name)) faults.push({ line, what: `${name} is not used` });
  }
  for (const { name, line } of tags.includes) {
    const included = namesOf(join(dirname(path), name), known);
    if (!included.some((each) => usedNames.has(each))) faults.push({ line, what: `${name} is not used` });
  }
  return { faults, usedNames };

  /** @param {Node} part or a list of them */
  function visit(part) {
    if (Array.isArray(part)) return part.forEach(visit);
    switch (part.type) {
      case 'Identifier':
        return use(part);
      case 'MemberExpression':
        return visit(part.base);
      case 'TableKeyString':
        return visit(part.value);
      case 'AssignmentStatement':
        // A variable that only gets values is not used.
        visit(part.init);
        return visit(part.variables.filter((/** @type {Node} */ { type }) => type !== 'Identifier'));
      case 'LocalStatement':
        visit(part.init);
        return part.variables.forEach(declare);
      case 'FunctionDeclaration':
        if (part.isLocal && scopes.length > 0) declare(part.identifier);
        return visitFunction(part);
      case 'ForNumericStatement':
        visit([part.start, part.end, part.step ?? []].flat());
        return visitBlock(part.body, [part.variable]);
      case 'ForGenericStatement':
        visit(part.iterators);
        return visitBlock(part.body, part.variables);
      case 'RepeatStatement':
        return visitBlock([...part.body, part.condition]);
      case 'IfClause':
      case 'ElseifClause':
      case 'WhileStatement':
        visit(part.condition);
        return visitBlock(part.body);
      case 'ElseClause':
      case 'DoStatement':
        return visitBlock(part.body);
      default:
        return visit(childrenOf(part));
    }
  }

  /** @param {Node} node @param {readonly Node[]} used parameters that need no use */
  function visitFunction({ parameters, body }, used = []) {
    visitBlock([...used, ...body], parameters);
  }

  /** @param {readonly Node[]} body @param {readonly Node[]} variables */
  function visitBlock(body, variables = []) {
    /** @type {Map<string, Local>} */
    const scope = new Map();
    scopes.unshift(scope);
    variables.filter(({ type }) => type === 'Identifier').forEach(declare);
    visit(body);
    scopes.shift();
    for (const [name, { line, isUsed }] of scope) {
      if (!isUsed && !name.startsWith('_')) faults.push({ line, what: `${name} is not used` });
    }
  }

  /** @param {Node} node */
  function declare({ name, loc }) {
    const { line } = loc.start;
    const isHiding = outer.has(name) || scopes.some((scope) => scope.has(name));
    if (isHiding && !name.startsWith('_')) faults.push({ line, what: `${name} hides another ${name}` });
    scopes[0]?.set(name, { line, isUsed: false });
  }

  /** @param {Node} node */
  function use({ name }) {
    const local = scopes.find((scope) => scope.has(name))?.get(name);
    if (local) local.isUsed = true;
    else usedNames.add(name);
  }
}

/** What a file gives to those who include it. @param {string} path @param {readonly Library[]} known @returns {readonly string[]} */
function namesOf(path, known) {
  const own = known.filter(({ file }) => file.path === path);
  return own.flatMap(({ file, helper }) => [helper.name, ...file.tags.records.map(({ name }) => name)]);
}
