// @ts-check
/**
 * The comments that say what a script of Redis gets and gives. They stand above its function:
 *
 *   --- What it does: the comment of the TypeScript function that calls it.
 *   ---@guard                       what comes after it runs only if it returns `reply`, not `stop`
 *   ---@change                      makes a change that the audit log is to have: it asks `was_made()` first, and calls
 *                                   `record_act()` where it makes it. See `accounts/audit/redis-recorded-change.ts`
 *   ---@with endpoint EndpointId    what the caller gives for the keys alone
 *   ---@key log = delivery(endpoint, event)   a key of `domain/keys.ts`, or `= accounts`, or `= jobs.wait`, a member of what
 *                                   the caller gives; `if counts` behind it: only then. `---@key lock`: the caller's own text
 *   ---@keys windows                as many as the caller gives: the last ones
 *   ---@param length integer        of the log
 *   ---@reply failures integer      since the last success
 *   ---@return boolean              instead of members: the reply is this value
 *
 * and these anywhere in the file:
 *
 *   ---@include ./lines.lua         the local functions of another file
 *   ---@const A, B ../domain/file   constants of TypeScript
 *   ---@type JobKeys ./file         a type of TypeScript; those of `domain/` are known
 *   ---@record entry {event EventId, log text?}  a row of a reply: in the script, `entry {event = …}` makes one
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
 *   { kind: 'key', key: string, inputs: readonly string[] } | { kind: 'member', path: string }
 *   | { kind: 'caller' } | { kind: 'list' } }} Key
 */
/**
 * @typedef {object} ScriptTags
 * @property {string[]} description
 * @property {boolean} isGuard
 * @property {boolean} isChange
 * @property {Member[]} inputs
 * @property {Key[]} keys
 * @property {Member[]} params
 * @property {Member[]} replies
 * @property {Type | undefined} returns
 */
/**
 * @typedef {object} FileTags
 * @property {{ name: string, line: number }[]} includes
 * @property {{ name: string, from: string, line: number }[]} constants
 * @property {{ name: string, from: string }[]} types
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
const FILE_TAGS = ['include', 'const', 'type', 'record'];

/** @param {string} path @param {readonly string[]} lines of the whole file @returns {FileTags} @throws {ScriptFault} */
export function readFileTags(path, lines) {
  /** @type {FileTags} */
  const tags = { includes: [], constants: [], types: [], records: [] };
  eachTag(path, lines, 1, (tag, rest, line) => readFileTag(tags, tag, rest, line));
  return tags;
}

/**
 * @param {string} path
 * @param {readonly string[]} comment right above the function
 * @param {number} line of its first one
 * @returns {ScriptTags}
 * @throws {ScriptFault}
 */
export function readScriptTags(path, comment, line) {
  /** @type {ScriptTags} */
  const tags = {
    description: comment.filter((each) => !TAG.test(each)).map((each) => each.slice('--- '.length)),
    isGuard: false,
    isChange: false,
    inputs: [],
    keys: [],
    params: [],
    replies: [],
    returns: undefined,
  };
  eachTag(path, comment, line, (tag, rest) => readScriptTag(tags, tag, rest));
  return tags;
}

/** @param {string} path @param {readonly string[]} lines @param {number} line @param {(tag: string, rest: string, line: number) => void} read */
function eachTag(path, lines, line, read) {
  for (const [i, text] of lines.entries()) {
    const [, tag, rest = ''] = TAG.exec(text) ?? [];
    if (tag === undefined) continue;
    try {
      read(tag, rest, line + i);
    } catch (error) {
      throw new ScriptFault(path, line + i, error instanceof Error ? error.message : String(error));
    }
  }
}

/** @param {FileTags} tags @param {string} tag @param {string} rest @param {number} line */
function readFileTag(tags, tag, rest, line) {
  if (tag === 'include') tags.includes.push({ name: rest, line });
  if (tag === 'const') tags.constants.push(...namesFrom(rest).map((each) => ({ ...each, line })));
  if (tag === 'type') tags.types.push(...namesFrom(rest));
  if (tag !== 'record') return;
  const { name, type } = readMember(rest);
  if (type.kind !== 'object') throw new Error(`the record ${name} has no members`);
  tags.records.push({ name, members: type.members });
}

/** @param {ScriptTags} tags @param {string} tag @param {string} rest */
function readScriptTag(tags, tag, rest) {
  if (FILE_TAGS.includes(tag)) return;
  if (tag === 'guard') tags.isGuard = true;
  else if (tag === 'change') tags.isChange = true;
  else if (tag === 'with') tags.inputs.push(readMember(rest));
  else if (tag === 'key') tags.keys.push(readKey(rest));
  else if (tag === 'keys')
    tags.keys.push({ name: new Reader(rest).word(), condition: undefined, from: { kind: 'list' } });
  else if (tag === 'param') tags.params.push(readMember(rest));
  else if (tag === 'reply') tags.replies.push(readMember(rest));
  else if (tag === 'return') tags.returns = new Reader(rest).type();
  else throw new Error(`there is no tag @${tag}`);
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
