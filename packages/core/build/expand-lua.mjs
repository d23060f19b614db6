// @ts-check
import luaparse from 'luaparse';
import { readFileTags, readScriptTags, ScriptFault } from './read-tags.mjs';

/** @typedef {import('./read-tags.mjs').FileTags} FileTags */
/** @typedef {import('./read-tags.mjs').ScriptTags} ScriptTags */
/** @typedef {import('./read-tags.mjs').Member} Member */
/** @typedef {any} Node of luaparse, whose own types know no scopes */
/** @typedef {{ name: string, line: number, node: Node }} Helper a local function, or a local value */
/**
 * @typedef {{ name: string, line: number, node: Node, tags: ScriptTags, stopsWithout: boolean }} LuaScript `stopsWithout`:
 *   whether it may stop without the members of its reply
 */
/**
 * @typedef {object} LuaFile
 * @property {string} path
 * @property {string} text
 * @property {FileTags} tags
 * @property {readonly Helper[]} helpers
 * @property {readonly LuaScript[]} scripts its global functions
 */
/** @typedef {{ file: LuaFile, helper: Helper }} Library */

// What Redis gives a script, and what every script has here: see `platform/redis-script-text.ts`.
export const GLOBALS =
  `redis string table math cjson cmsgpack tonumber tostring type error pcall ipairs pairs next unpack select
  once at_end shared reply stop keys`.split(/\s+/);
const OF_CHANGES = ['record_act', 'was_made'];

// What stands for a member that a reply or a row does not name. A `nil` would end the list that Redis makes of it.
const NOTHING = /** @type {Readonly<Record<string, string>>} */ ({
  integer: '0',
  boolean: 'false',
  list: '{}',
  optional: 'false',
});

/** @param {string} path @param {string} text @returns {LuaFile} @throws {ScriptFault} */
export function parseFile(path, text) {
  const lines = text.split('\n');
  const chunk = parse(path, text);
  /** @type {Helper[]} */
  const helpers = [];
  /** @type {LuaScript[]} */
  const scripts = [];
  for (const node of chunk.body) {
    const line = node.loc.start.line;
    if (node.type === 'LocalStatement') {
      const [variable, other] = node.variables;
      if (other) throw new ScriptFault(path, line, 'declare each local value by itself');
      helpers.push({ name: variable.name, line, node });
    } else if (node.type === 'FunctionDeclaration' && node.isLocal) {
      helpers.push({ name: node.identifier.name, line, node });
    } else if (node.type === 'FunctionDeclaration' && node.identifier?.type === 'Identifier') {
      const comment = commentAbove(lines, line);
      const tags = readScriptTags(path, comment, line - comment.length);
      scripts.push({ name: node.identifier.name, line, node, tags, stopsWithout: stopsWithout(node) });
    } else throw new ScriptFault(path, line, 'a file has functions, and local values that they share');
  }
  const file = { path, text, tags: readFileTags(path, lines), helpers, scripts };
  for (const script of scripts) checkScript(file, script);
  return file;
}

/** @param {Node} node */
function stopsWithout(node) {
  let found = false;
  walk(node, (each) => {
    if (isCallOf(each, ['stop']) && !tableOf(each)) found = true;
  });
  return found;
}

/** @param {readonly string[]} lines @param {number} line of the function @returns {readonly string[]} */
function commentAbove(lines, line) {
  let from = line - 1;
  while (lines[from - 1]?.startsWith('---')) from -= 1;
  return lines.slice(from, line - 1);
}

/** @param {LuaFile} file @param {LuaScript} script */
function checkScript({ path }, { name, line, node, tags }) {
  const expected = [...tags.keys, ...tags.params].map((each) => each.name).join(', ');
  const declared = node.parameters.map((/** @type {Node} */ each) => each.name).join(', ');
  if (declared !== expected)
    throw new ScriptFault(path, line, `by its comment, ${name} has the parameters (${expected})`);
  if (tags.keys.length === 0) throw new ScriptFault(path, line, `${name} has no key`);
  /** @type {Set<string>} */
  const used = new Set();
  walk(node, (each) => each.type === 'Identifier' && used.add(each.name));
  if (tags.isChange && !(used.has('was_made') && used.has('record_act')))
    throw new ScriptFault(path, line, `${name} has to call was_made and record_act`);
  const needsReply = tags.isGuard || tags.replies.length > 0 || tags.returns;
  if (needsReply && node.body.at(-1)?.type !== 'ReturnStatement') {
    throw new ScriptFault(path, node.loc.end.line, `${name} ends without a reply`);
  }
}

/**
 * The helpers that a script or a helper calls, each behind those that it calls itself.
 *
 * @param {Node} node
 * @param {readonly Library[]} known those of its file, and of all that the file includes
 * @returns {Library[]}
 */
export function librariesOf(node, known) {
  /** @type {Set<Library>} */
  const found = new Set();
  /** @param {Node} each */
  const find = (each) => {
    walk(each, ({ type, name }) => {
      const library = type === 'Identifier' ? known.find(({ helper }) => helper.name === name) : undefined;
      if (library === undefined || found.has(library) || library.helper.node === each) return;
      find(library.helper.node);
      found.add(library);
    });
  };
  find(node);
  return known.filter((library) => found.has(library));
}

/**
 * The Lua of a script or a helper as the body of a TypeScript template. In it, constants, keys, replies and rows are spelled
 * out: so their names cost Redis nothing. Each line stays where it is.
 *
 * @param {LuaFile} file
 * @param {LuaScript | Helper} part
 * @param {readonly Library[]} known as above
 * @returns {{ body: string, usedConstants: ReadonlySet<string>, usesKeys: boolean }}
 * @throws {ScriptFault}
 */
export function expandLua({ path, text, tags: fileTags }, part, known) {
  const { node } = part;
  const tags = 'tags' in part ? part.tags : undefined;
  const files = [...new Set(known.map(({ file }) => file))];
  const records = new Map(
    [fileTags, ...files.map((file) => file.tags)]
      .flatMap((each) => each.records)
      .map(({ name, members }) => [name, members]),
  );
  const constants = new Set(fileTags.constants.map(({ name }) => name));
  /** @type {Set<string>} */
  const usedConstants = new Set();
  let usesKeys = false;
  checkNames();

  /** @type {{ from: number, until: number, render: () => string }[]} */
  const edits = [];
  visit(node);
  edits.sort((a, b) => a.from - b.from || b.until - a.until);
  const body = tags ? printScript(tags) : print(node.range[0], node.range[1]);
  return { body, usedConstants, usesKeys };

  function checkNames() {
    const allowed = new Set([
      ...GLOBALS,
      ...OF_CHANGES,
      ...constants,
      ...records.keys(),
      ...known.map(({ helper }) => helper.name),
    ]);
    walk(node, (each) => {
      if (isGlobal(each) && !allowed.has(each.name) && each !== node.identifier)
        throw fault(each, `nothing is called ${each.name}`);
    });
  }

  /** @param {ScriptTags} of */
  function printScript({ keys, params }) {
    const lastName = node.parameters.at(-1) ?? node.identifier;
    const bodyFrom = text.indexOf(')', lastName.range[1]) + 1;
    const values = [
      ...keys.map(({ from }, i) =>
        from.kind !== 'list' ? `KEYS[${i + 1}]` : i === 0 ? 'KEYS' : `{ unpack(KEYS, ${i + 1}) }`,
      ),
      ...params.map((_, i) => `ARGV[${i + 1}]`),
    ];
    const names = node.parameters.map((/** @type {Node} */ { name }) => name);
    const start = `local ${names.join(', ')} = ${values.join(', ')}`;
    return (
      start +
      '\n'.repeat(lineBreaks([node.range[0], bodyFrom])) +
      print(bodyFrom, node.range[1] - 'end'.length)
    );
  }

  /** @param {Node} each */
  function visit(each) {
    const render = editOf(each);
    if (render) edits.push({ from: each.range[0], until: each.range[1], render });
    // What a constant or a key is made of is part of it.
    if (!render || isCallOf(each, [...records.keys(), 'reply', 'stop']))
      for (const child of childrenOf(each)) visit(child);
  }

  /** @param {Node} each @returns {(() => string) | undefined} */
  function editOf(each) {
    const constant = each.type === 'MemberExpression' ? rootOf(each) : each;
    if (isGlobal(constant) && constants.has(constant.name)) {
      usedConstants.add(constant.name);
      return () => `\${lua(${text.slice(...each.range)})}`;
    }
    if (isCallOf(each, ['reply', 'stop']) && isGlobal(each.base)) return () => spellReply(each);
    if (isCallOf(each, [...records.keys()]) && isGlobal(each.base)) {
      return () => spellRow(each, each.base.name, records.get(each.base.name) ?? []);
    }
    if (
      each.type === 'CallExpression' &&
      each.base.type === 'MemberExpression' &&
      isGlobal(each.base.base) &&
      each.base.base.name === 'keys'
    ) {
      usesKeys = true;
      return () => spellKey(each);
    }
    return undefined;
  }

  /** @param {Node} each */
  function spellKey(each) {
    const inputs = each.arguments.map((/** @type {Node} */ argument) => {
      if (argument.type !== 'Identifier') throw fault(each, 'a key is made of variables');
      return `'<${argument.name}>' as never`;
    });
    return `\${inLua(keys.${each.base.identifier.name}(${inputs.join(', ')}))}`;
  }

  /** @param {Node} each */
  function spellReply(each) {
    const isStop = each.base.name === 'stop';
    if (!tags) throw fault(each, 'only a script replies');
    if (isStop && !tags.isGuard) throw fault(each, 'only a guard stops');
    const table = tableOf(each);
    const first = tags.isGuard ? [isStop ? '0' : '1'] : [];
    if (tags.replies.length === 0) {
      if (table || tags.returns) throw fault(each, 'this script has no @reply');
      return `${first[0] ?? '1'}${restOfLines(each)}`;
    }
    if (!table && isStop && each.arguments?.length === 0) return `{0}${restOfLines(each)}`;
    if (!table) throw fault(each, 'a reply is a table of its members');
    return `{${[...first, ...fieldsOf(table, 'reply', tags.replies)].join(', ')}}${restOfLines(each)}`;
  }

  /** @param {Node} each @param {string} name @param {readonly Member[]} members */
  function spellRow(each, name, members) {
    const table = tableOf(each);
    if (!table) throw fault(each, `${name} is made of a table of its members`);
    return `{${fieldsOf(table, name, members).join(', ')}}${restOfLines(each)}`;
  }

  /** @param {Node} table @param {string} name @param {readonly Member[]} members */
  function fieldsOf(table, name, members) {
    /** @type {Map<string, readonly [number, number]>} */
    const fields = new Map();
    for (const field of table.fields) {
      const member = field.type === 'TableKeyString' ? field.key.name : undefined;
      if (!members.some((each) => each.name === member))
        throw fault(field, `${name} has no member ${member ?? 'without a name'}`);
      fields.set(member, valueRange(field));
    }
    return members.map(({ name: member, type }) => {
      const field = fields.get(member);
      const nothing = NOTHING[type.kind];
      if (!field && nothing === undefined) throw fault(table, `${name} needs ${member}`);
      if (!field) return nothing;
      const value = print(...field);
      return nothing === undefined ? value : `(${value}) or ${nothing}`;
    });
  }

  // A table of several lines is spelled on its first one: those after it stay empty, so that what is behind it stays where it is.
  /** @param {Node} each */
  function restOfLines(each) {
    let inFields = 0;
    for (const field of tableOf(each)?.fields ?? []) inFields += lineBreaks(valueRange(field));
    return '\n'.repeat(lineBreaks(each.range) - inFields);
  }

  // With the parentheses around it.
  /** @param {Node} field @returns {readonly [number, number]} */
  function valueRange({ key, range }) {
    const from = text.indexOf('=', key.range[1]) + 1;
    return [from + (/^\s*/.exec(text.slice(from))?.[0].length ?? 0), range[1]];
  }

  /** @param {readonly [number, number]} range */
  function lineBreaks([from, until]) {
    return text.slice(from, until).split('\n').length - 1;
  }

  /** The text from one place to another, with all that is spelled out in it. @param {number} from @param {number} until @returns {string} */
  function print(from, until) {
    let at = from;
    let printed = '';
    for (const edit of edits) {
      if (edit.from < at || edit.until > until) continue;
      printed += escapeTemplate(text.slice(at, edit.from)) + edit.render();
      at = edit.until;
    }
    return printed + escapeTemplate(text.slice(at, until));
  }

  /** @param {Node} each @param {string} what */
  function fault(each, what) {
    return new ScriptFault(path, each.loc.start.line, what);
  }
}

/** @param {string} path @param {string} text @returns {Node} */
function parse(path, text) {
  try {
    return luaparse.parse(text, {
      luaVersion: '5.1',
      comments: false,
      scope: true,
      ranges: true,
      locations: true,
    });
  } catch (error) {
    const { line = 1, message = '' } = /** @type {{ line?: number, message?: string }} */ (error);
    throw new ScriptFault(path, line, message.replace(/^\[\d+:\d+\] /, ''));
  }
}

/** @param {Node} node @param {readonly string[]} names */
function isCallOf(node, names) {
  const isCall = node.type === 'CallExpression' || node.type === 'TableCallExpression';
  return isCall && node.base.type === 'Identifier' && names.includes(node.base.name);
}

/** @param {Node} node */
function tableOf(node) {
  const [table] = [node.arguments].flat();
  return table?.type === 'TableConstructorExpression' ? table : undefined;
}

/** @param {Node} node @returns {Node} */
function rootOf(node) {
  return node.type === 'MemberExpression' ? rootOf(node.base) : node;
}

/** @param {Node} node */
function isGlobal(node) {
  return node.type === 'Identifier' && node.isLocal === false;
}

/** @param {Node} node @param {(node: Node) => void} see */
function walk(node, see) {
  see(node);
  for (const child of childrenOf(node)) walk(child, see);
}

/** @param {Node} node @returns {Node[]} */
export function childrenOf(node) {
  return Object.entries(node)
    .filter(([name]) => name !== 'globals' && name !== 'loc' && name !== 'range')
    .flatMap(([, value]) => value)
    .filter((value) => typeof value?.type === 'string');
}

/** @param {string} text */
function escapeTemplate(text) {
  return text.replaceAll(/[`\\]|\$\{/g, (found) => `\\${found}`);
}
