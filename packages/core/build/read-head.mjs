// @ts-check
/**
 * What a script of Redis gets and gives, by the head of its `.lua` file. Each line of the head that names something becomes
 * one line of Lua in its place, so that line numbers stay.
 *
 *   --- What it does: the comment of the function that calls it.
 *   ---@guard                       what comes after it runs only if it returns `reply`, not `stop`
 *   ---@include ./lines.lua         the local functions of another file, which has no keys and arguments of its own
 *   ---@const A, B ../domain/file   constants of TypeScript
 *   ---@type JobKeys ./file         a type of TypeScript; those of `domain/` are known
 *   ---@with endpoint EndpointId    what the caller gives for the keys alone
 *   ---@key log = delivery(endpoint, event)   a key of `domain/keys.ts`, or `= accounts`, or `= jobs.wait`, a member of what the caller gives;
 *                                   `if counts` behind it: only then. `---@key lock`: the caller's own text
 *   ---@arg length integer          of the log
 *   ---@reply failures integer      since the last success
 *   ---@returns boolean             instead of members: the reply is this value
 *   ---@record mate {event EventId, log text?}   a row of a reply: in the script, `mate {event = …}` makes one
 *   ---@change                      calls `record_act()` where it makes a change that the audit log is to have: see
 *                                   `audit/redis-recorded-change.ts`
 *   ---@made 1                      what it returns if it has made the change already, and the reply was lost
 *
 * Types: `text`, `integer`, `digits` (an integer that only goes on to a command), `boolean`, `shared` (a text that several
 * calls may reply with), 'a'|'b', `{name type, …}`, the name of a type or a record; `?` and `[]` behind each.
 */

/**
 * @typedef {{ kind: 'text' | 'integer' | 'digits' | 'boolean' | 'shared' }
 *   | { kind: 'choice', values: readonly string[] }
 *   | { kind: 'named', name: string }
 *   | { kind: 'object', members: readonly Member[] }
 *   | { kind: 'optional', of: Type }
 *   | { kind: 'list', of: Type }} Type
 */
/** @typedef {{ name: string, type: Type, comment: string }} Member */
/**
 * @typedef {{ name: string, condition: string | undefined, from:
 *   { kind: 'key', key: string, inputs: readonly string[] } | { kind: 'member', path: string } | { kind: 'caller' } }} Key
 */
/**
 * @typedef {object} Head
 * @property {string[]} description
 * @property {boolean} isGuard
 * @property {boolean} isChange
 * @property {boolean} isScript whether it has keys: another file's functions otherwise
 * @property {string[]} includes
 * @property {{ name: string, from: string }[]} constants
 * @property {{ name: string, from: string }[]} types
 * @property {Member[]} inputs
 * @property {Key[]} keys
 * @property {Member[]} args
 * @property {Member[]} replies
 * @property {Type | undefined} returns
 * @property {{ name: string, members: readonly Member[] }[]} records
 */

/** A fault of a script, with the place of it. */
export class ScriptFault extends Error {
  /** @param {string} path @param {number} line @param {string} what */
  constructor(path, line, what) {
    super(`${path}:${line}: ${what}`);
  }
}

const TAG = /^---@(\w+)\s*(.*)$/;

/**
 * @param {string} path of the file, for faults
 * @param {string} source
 * @returns {{ head: Head, lines: string[] }} `lines`: the Lua
 * @throws {ScriptFault} for a line that can't be read
 */
export function readHead(path, source) {
  /** @type {Head} */
  const head = {
    description: [],
    isGuard: false,
    isChange: false,
    isScript: false,
    includes: [],
    constants: [],
    types: [],
    inputs: [],
    keys: [],
    args: [],
    replies: [],
    returns: undefined,
    records: [],
  };
  let isDescription = true;
  const lines = source
    .trimEnd()
    .split('\n')
    .map((line, i) => {
      const [, tag = '', rest = ''] = TAG.exec(line) ?? [];
      isDescription &&= line.startsWith('---') && tag === '';
      if (isDescription) {
        head.description.push(line.slice('--- '.length));
        return '';
      }
      if (tag === '') return line;
      try {
        return readTag(head, tag, rest) ?? '';
      } catch (error) {
        throw new ScriptFault(path, i + 1, error instanceof Error ? error.message : String(error));
      }
    });
  return { head, lines };
}

/** @param {Head} head @param {string} tag @param {string} rest @returns {string | undefined} the Lua in its place */
function readTag(head, tag, rest) {
  switch (tag) {
    case 'guard':
      head.isGuard = true;
      return undefined;
    case 'change':
      head.isChange = true;
      return undefined;
    case 'made':
      return `if was_made() then return ${rest} end`;
    case 'include':
      head.includes.push(rest);
      return undefined;
    case 'const':
      head.constants.push(...namesFrom(rest));
      return undefined;
    case 'type':
      head.types.push(...namesFrom(rest));
      return undefined;
    case 'with':
      head.inputs.push(readMember(rest));
      return undefined;
    case 'key': {
      const key = readKey(rest);
      head.isScript = true;
      head.keys.push(key);
      return `local ${key.name} = KEYS[${head.keys.length}]`;
    }
    case 'arg': {
      const arg = readMember(rest);
      head.isScript = true;
      head.args.push(arg);
      return `local ${arg.name} = ARGV[${head.args.length}]`;
    }
    case 'reply':
      head.replies.push(readMember(rest));
      return undefined;
    case 'returns':
      head.returns = new Reader(rest).type();
      return undefined;
    case 'record': {
      const { name, type } = readMember(rest);
      if (type.kind !== 'object') throw new Error(`the record ${name} has no members`);
      head.records.push({ name, members: type.members });
      return undefined;
    }
    default:
      throw new Error(`there is no tag @${tag}`);
  }
}

/** @param {string} text `A, B ./file` */
function namesFrom(text) {
  const names = text.split(/,?\s+/);
  const from = names.pop();
  if (from === undefined || names.length === 0)
    throw new Error('expected names, and the file that exports them');
  return names.map((name) => ({ name, from }));
}

const KEY = /^(\w+)(?:\s*=\s*(?:(\w+\.[\w.]+)|(\w+)(?:\(([^)]*)\))?))?(?:\s+if\s+(\w+))?(?:\s|$)/;

/** @param {string} text @returns {Key} */
function readKey(text) {
  const found = KEY.exec(text);
  if (!found) throw new Error(`expected a key such as "log = delivery(endpoint, event)", not "${text}"`);
  const [, name = '', path, key, inputs = '', condition] = found;
  if (key !== undefined) {
    return { name, condition, from: { kind: 'key', key, inputs: inputs.split(/,\s*/).filter(Boolean) } };
  }
  return { name, condition, from: path === undefined ? { kind: 'caller' } : { kind: 'member', path } };
}

/** @param {string} text `name type comment` @returns {Member} */
function readMember(text) {
  const reader = new Reader(text);
  const name = reader.word();
  const type = reader.type();
  return { name, type, comment: reader.rest.trim() };
}

const SIMPLE = /** @type {const} */ (['text', 'integer', 'digits', 'boolean', 'shared']);

class Reader {
  /** @param {string} rest what is not read yet */
  constructor(rest) {
    this.rest = rest;
  }

  word() {
    const word = this.#take(/^\s*(\w+)/);
    if (word === undefined) throw new Error(`expected a name at "${this.rest}"`);
    return word.trim();
  }

  /** @returns {Type} */
  type() {
    let type = this.#single();
    for (let more = this.#take(/^(\?|\[\])/); more; more = this.#take(/^(\?|\[\])/)) {
      type = { kind: more === '?' ? 'optional' : 'list', of: type };
    }
    return type;
  }

  /** @returns {Type} */
  #single() {
    this.#take(/^\s+/);
    const choice = this.#take(/^'[^']*'(\|'[^']*')*/);
    if (choice !== undefined) return { kind: 'choice', values: choice.split('|') };
    if (this.rest.startsWith('{')) return this.#object();
    const name = this.word();
    const simple = SIMPLE.find((kind) => kind === name);
    return simple ? { kind: simple } : { kind: 'named', name };
  }

  /** @returns {Type} */
  #object() {
    /** @type {Member[]} */
    const members = [];
    do {
      this.rest = this.rest.slice(1);
      members.push({ name: this.word(), type: this.type(), comment: '' });
    } while (this.rest.startsWith(','));
    if (this.#take(/^\s*\}/) === undefined) throw new Error(`expected "}" at "${this.rest}"`);
    return { kind: 'object', members };
  }

  /** @param {RegExp} pattern */
  #take(pattern) {
    const [found] = pattern.exec(this.rest) ?? [];
    if (found !== undefined) this.rest = this.rest.slice(found.length);
    return found;
  }
}
