// @ts-check
import luaparse from 'luaparse';
import { ScriptFault } from './read-head.mjs';

/** @typedef {import('./read-head.mjs').Head} Head */
/** @typedef {import('./read-head.mjs').Member} Member */
/** @typedef {import('./read-head.mjs').Type} Type */
/** @typedef {any} Node of luaparse, whose own types know no scopes */

// What Redis gives a script, and what every script has here: see `redis-script-text.ts`.
const GLOBALS =
  `redis string table math cjson cmsgpack tonumber tostring type error pcall ipairs pairs next unpack select
  KEYS ARGV once at_end shared reply stop keys`.split(/\s+/);

// What stands for a member that a reply or a row does not name. A `nil` would end the list that Redis makes of it.
const NOTHING = /** @type {Readonly<Record<string, string>>} */ ({
  integer: '0',
  boolean: 'false',
  list: '{}',
  optional: 'false',
});

/**
 * The Lua of a script as the body of a TypeScript template. In it, constants, keys, replies and rows are spelled out: so
 * their names cost Redis nothing. Each line stays where it is.
 *
 * @param {{ path: string, head: Head, lines: readonly string[] }} source
 * @param {readonly { head: Head, lines: readonly string[] }[]} libraries that it includes
 * @returns {{ body: string, usesKeys: boolean }}
 * @throws {ScriptFault}
 */
export function expandLua({ path, head, lines }, libraries) {
  const text = lines.join('\n');
  const chunk = parse(path, text);
  const records = new Map(
    [head, ...libraries.map((each) => each.head)].flatMap(({ records: all }) =>
      all.map((each) => [each.name, each.members]),
    ),
  );
  const constants = new Set(head.constants.map(({ name }) => name));
  checkNames();
  checkEnd();

  /** @type {{ from: number, until: number, render: () => string }[]} */
  const edits = [];
  let usesKeys = false;
  visit(chunk);
  edits.sort((a, b) => a.from - b.from || b.until - a.until);
  return { body: print(0, text.length), usesKeys };

  function checkNames() {
    const known = new Set([
      ...GLOBALS,
      ...(head.isChange ? ['record_act', 'was_made'] : []),
      ...constants,
      ...records.keys(),
      ...libraries.flatMap(namesOf),
    ]);
    const unknown = chunk.globals.find((/** @type {Node} */ { name }) => !known.has(name));
    if (unknown) throw fault(unknown, `nothing is called ${unknown.name}`);
    /** @type {Map<string, number>} */
    const uses = new Map();
    walk(chunk, (node) => node.type === 'Identifier' && uses.set(node.name, (uses.get(node.name) ?? 0) + 1));
    // A key or an argument is also where it is declared. The first key says where Redis has the others, too.
    const declared = [...head.keys.slice(1), ...head.args].find(({ name }) => (uses.get(name) ?? 0) < 2);
    const constant = head.constants.find(({ name }) => !uses.has(name));
    if (declared)
      throw new ScriptFault(
        path,
        1 + lines.findIndex((line) => line.startsWith(`local ${declared.name} =`)),
        `${declared.name} is not used`,
      );
    if (constant) throw new ScriptFault(path, 1, `${constant.name} is not used`);
  }

  function checkEnd() {
    if (!head.isScript || !(head.isGuard || head.replies.length > 0 || head.returns)) return;
    const last = chunk.body.at(-1);
    if (last?.type !== 'ReturnStatement')
      throw new ScriptFault(path, lines.length, 'the last line returns no reply');
  }

  /** @param {Node} node */
  function visit(node) {
    const edit = editOf(node);
    if (edit !== undefined) edits.push({ from: node.range[0], until: node.range[1], render: edit });
    // What a constant or a key is made of is part of it.
    if (edit === undefined || isCallOf(node, [...records.keys(), 'reply', 'stop']))
      for (const child of childrenOf(node)) visit(child);
  }

  /** @param {Node} node @returns {(() => string) | undefined} */
  function editOf(node) {
    if (node.type === 'Identifier' && isGlobal(node) && constants.has(node.name))
      return () => `\${lua(${node.name})}`;
    if (node.type === 'MemberExpression') {
      const base = rootOf(node);
      if (isGlobal(base) && constants.has(base.name)) return () => `\${lua(${text.slice(...node.range)})}`;
    }
    if (isCallOf(node, ['reply', 'stop']) && !isLocal(node.base)) return () => spellReply(node);
    if (isCallOf(node, [...records.keys()]))
      return () => spellRow(node, node.base.name, records.get(node.base.name) ?? []);
    if (
      node.type === 'CallExpression' &&
      node.base.type === 'MemberExpression' &&
      node.base.base.name === 'keys' &&
      isGlobal(node.base.base)
    ) {
      usesKeys = true;
      return () => spellKey(node);
    }
    return undefined;
  }

  /** @param {Node} node */
  function spellKey(node) {
    const inputs = node.arguments.map((/** @type {Node} */ argument) => {
      if (argument.type !== 'Identifier') throw fault(node, 'a key is made of variables');
      return `'<${argument.name}>' as never`;
    });
    return `\${inLua(keys.${node.base.identifier.name}(${inputs.join(', ')}))}`;
  }

  /** @param {Node} node */
  function spellReply(node) {
    const isStop = node.base.name === 'stop';
    if (isStop && !head.isGuard) throw fault(node, 'only a guard stops');
    const table = tableOf(node);
    const first = head.isGuard ? [isStop ? '0' : '1'] : [];
    if (head.replies.length === 0) {
      if (table || head.returns) throw fault(node, 'this script has no @reply');
      return `${first[0] ?? '1'}${linesIn(node)}`;
    }
    if (!table && isStop) return `{0}${linesIn(node)}`;
    if (!table) throw fault(node, 'a reply is a table of its members');
    return `{${[...first, ...fieldsOf(table, 'reply', head.replies)].join(', ')}}${linesIn(node)}`;
  }

  /** @param {Node} node @param {string} name @param {readonly Member[]} members */
  function spellRow(node, name, members) {
    const table = tableOf(node);
    if (!table) throw fault(node, `${name} is made of a table of its members`);
    return `{${fieldsOf(table, name, members).join(', ')}}${linesIn(node)}`;
  }

  /** @param {Node} table @param {string} name @param {readonly Member[]} members */
  function fieldsOf(table, name, members) {
    /** @type {Map<string, Node>} */
    const fields = new Map();
    for (const field of table.fields) {
      const member = field.type === 'TableKeyString' ? field.key.name : undefined;
      if (!members.some((each) => each.name === member))
        throw fault(field, `${name} has no member ${member ?? 'without a name'}`);
      fields.set(member, field.value);
    }
    return members.map(({ name: member, type }) => {
      const field = fields.get(member);
      const nothing = NOTHING[type.kind];
      if (!field && nothing === undefined) throw fault(table, `${name} needs ${member}`);
      if (!field) return nothing;
      const value = print(field.range[0], field.range[1]);
      return nothing === undefined ? value : `(${value}) or ${nothing}`;
    });
  }

  // A table of several lines is spelled on its first one: those after it stay empty, so that the lines behind it stay.
  /** @param {Node} node */
  function linesIn(node) {
    let inFields = 0;
    for (const field of tableOf(node)?.fields ?? []) inFields += lineBreaks(field.value.range);
    return '\n'.repeat(lineBreaks(node.range) - inFields);
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

  /** @param {Node} node @param {string} what */
  function fault(node, what) {
    return new ScriptFault(path, node.loc.start.line, what);
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

/** The local functions and values that a library has for those that include it. @param {{ lines: readonly string[] }} library */
function namesOf({ lines }) {
  return lines.flatMap((line) => /^local (?:function )?(\w+)/.exec(line)?.[1] ?? []);
}

/** @param {Node} node @param {readonly string[]} names */
function isCallOf(node, names) {
  return (
    (node.type === 'CallExpression' || node.type === 'TableCallExpression') &&
    node.base.type === 'Identifier' &&
    names.includes(node.base.name)
  );
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

/** @param {Node} node */
function isLocal(node) {
  return node.isLocal === true;
}

/** @param {Node} node @param {(node: Node) => void} see */
function walk(node, see) {
  see(node);
  for (const child of childrenOf(node)) walk(child, see);
}

/** @param {Node} node @returns {Node[]} */
function childrenOf(node) {
  return Object.entries(node)
    .filter(([name]) => name !== 'globals' && name !== 'loc' && name !== 'range')
    .flatMap(([, value]) => value)
    .filter((value) => typeof value?.type === 'string');
}

/** @param {string} text */
function escapeTemplate(text) {
  return text.replaceAll(/[`\\]|\$\{/g, (found) => `\\${found}`);
}
