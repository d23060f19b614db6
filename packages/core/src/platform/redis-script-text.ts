import { createHash } from 'node:crypto';
import { REFUSE_LATE } from './redis-deadline';

/** A script as Redis gets it, by itself or joined with others. */
export interface Script {
  /** The body of a function of `KEYS` and `ARGV`. */
  readonly body: string;
  readonly libraries: readonly string[];
  /** Its text when it runs by itself. */
  readonly text: string;
  readonly digest: string;
  /** Whether a reply of 0, or one that begins with 0, keeps the later steps of its unit from running. */
  readonly isGuard: boolean;
  /** Scripts that run together are in the order of their definition. */
  readonly number: number;
}

let definedScripts = 0;

export function toScript(body: string, libraries: readonly string[], isGuard: boolean): Script {
  definedScripts += 1;
  const text = `${START}
  ${libraries.join('\n')}
  local function script(KEYS, ARGV)
    ${body}
  end
  local reply = script(KEYS, ARGV)
  ${END}
  return reply`;
  return { body, libraries, text, digest: digestOf(text), isGuard, number: definedScripts };
}

const START = `${REFUSE_LATE}
  local once, endings = {}, {}
  local function at_end(name, action)
    if once[name] then return false end
    once[name] = true
    endings[#endings + 1] = action
    return true
  end`;
const END = 'for _, action in ipairs(endings) do action() end';
// What Redis says when it takes no writes now. Redis 6.2 says before it where that was.
const REFUSALS = 'OOM = 1, READONLY = 1, MISCONF = 1, NOREPLICAS = 1';
const TEXT_OF_ERROR = `(string.gsub(type(err) == 'table' and err.err or tostring(err), '^@user_script: %d+: %-', ''))`;

function digestOf(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}

export interface Joined extends Pick<Script, 'text' | 'digest'> {
  readonly places: ReadonlyMap<Script, number>;
}

export function join(scripts: readonly Script[]): Joined {
  const libraries = new Set(scripts.flatMap((script) => script.libraries));
  const functions = scripts.map(({ body }) => `function(KEYS, ARGV)\n${body}\nend`).join(',\n');
  const guards = scripts.map(({ isGuard }) => isGuard).join(', ');
  const text = joinedText([...libraries].join('\n'), functions, guards);
  return { text, digest: digestOf(text), places: new Map(scripts.map((script, i) => [script, i + 1])) };
}

/** A call of a script. */
export interface ScriptCall {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/**
 * The argument of the joined script: see `joinedText`. It is a single one, since each of the arguments of a
 * command costs this process twice of what its place in that one does.
 */
export function argumentOf(units: readonly (readonly ScriptCall[])[], { places }: Joined): Buffer {
  return packer.pack(
    units.map((calls) => calls.map(({ script, keys, args }) => [places.get(script) ?? 0, keys, args])),
  );
}

type Packed = string | number | readonly Packed[];

const PACKED_BYTES = 64 * 1024;
// What MessagePack puts in front of a text or a list.
const HEAD_BYTES = 5;
const LIST = 0xdd;
const TEXT = 0xdb;
const MOST_UTF8_BYTES_EACH = 3;

/** Packs lists of texts, for `cmsgpack.unpack` in Redis. Numbers are passed as texts. */
class Packer {
  #bytes = Buffer.allocUnsafe(PACKED_BYTES);
  #at = 0;

  pack(value: Packed): Buffer {
    this.#at = 0;
    this.#write(value);
    const packed = Buffer.from(this.#bytes.subarray(0, this.#at));
    if (this.#bytes.length > PACKED_BYTES) this.#bytes = Buffer.allocUnsafe(PACKED_BYTES);
    return packed;
  }

  #write(value: Packed): void {
    if (typeof value === 'object') {
      this.#makeRoom(HEAD_BYTES);
      this.#writeHead(LIST, value.length);
      for (const part of value) this.#write(part);
      return;
    }
    const text = String(value);
    this.#makeRoom(HEAD_BYTES + MOST_UTF8_BYTES_EACH * text.length);
    const bytes = this.#bytes.write(text, this.#at + HEAD_BYTES);
    this.#writeHead(TEXT, bytes);
    this.#at += bytes;
  }

  #writeHead(kind: number, length: number): void {
    this.#bytes[this.#at] = kind;
    this.#bytes.writeUInt32BE(length, this.#at + 1);
    this.#at += HEAD_BYTES;
  }

  #makeRoom(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#at + bytes));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

const packer = new Packer();

// ARGV: the calls of each unit, packed, each with the number of its script, its keys and its arguments. Gives
// for each unit its error or false, and then the reply of each call that has run without one; and the texts
// that the scripts have shared. When Redis itself refuses to write, nothing was written: that is the error of
// all.
//
// `shared` is for texts that several calls may give: it gives their number, and each text is sent once.
function joinedText(libraries: string, functions: string, guards: string): string {
  return `${START}
  local texts, numbers = {}, {}
  local function shared(text)
    if not numbers[text] then
      texts[#texts + 1] = text
      numbers[text] = #texts
    end
    return numbers[text]
  end
  ${libraries}
  local scripts, guards = {${functions}}, {${guards}}
  local refusals = {${REFUSALS}}
  local function run(calls, replies)
    for i, call in ipairs(calls) do
      local script = tonumber(call[1])
      local reply = scripts[script](call[2], call[3])
      local first = reply
      if type(reply) == 'table' then
        if reply.err then error(reply) end
        first = reply[1]
      end
      replies[i + 1] = reply or false
      if guards[script] and (first == 0 or not first) then return end
    end
  end
  local all = {}
  for i, calls in ipairs(cmsgpack.unpack(ARGV[1])) do
    local replies = {false}
    local ok, err = pcall(run, calls, replies)
    if not ok then
      local text = ${TEXT_OF_ERROR}
      if refusals[string.match(text, '^%u+')] then return {err = text} end
      replies[1] = text
    end
    all[i] = replies
  end
  ${END}
  return {all, texts}`;
}

/** A script that runs for each of many rows, with so many keys and arguments. */
export interface RowCallShape {
  readonly script: Script;
  readonly keys: number;
  readonly args: number;
}

const joinedRows = new Map<string, Pick<Script, 'text' | 'digest'>>();

/** One script for all rows: made once for calls of a shape. */
export function joinRows(calls: readonly RowCallShape[]): Pick<Script, 'text' | 'digest'> {
  const name = calls.map(({ script, keys, args }) => `${script.number} ${keys} ${args}`).join(', ');
  const known = joinedRows.get(name);
  if (known) return known;
  const text = rowsText(calls);
  const joined = { text, digest: digestOf(text) };
  joinedRows.set(name, joined);
  return joined;
}

// KEYS: those of the first call for each row, then those of the second one, and so on. ARGV: how many rows, then the
// arguments in the same order. Gives for each row its error or false, and then the replies of the calls that have run.
function rowsText(calls: readonly RowCallShape[]): string {
  const libraries = new Set(calls.flatMap(({ script }) => script.libraries));
  const functions = calls.map(
    ({ script: { body } }, i) => `local function script_${i}(KEYS, ARGV)\n${body}\nend`,
  );
  // Where the keys and arguments of a call begin, by the number of rows.
  let [keysBefore, argsBefore] = [0, 0];
  const runs = calls.map(({ script, keys, args }, i) => {
    const part = (list: string, each: number, before: number, fixed: number) =>
      Array.from(
        { length: each },
        (_, at) => `${list}[${before} * rows + ${each} * row + ${fixed + at - each}]`,
      ).join(', ');
    const run = `reply = script_${i}({${part('KEYS', keys, keysBefore, 1)}}, {${part('ARGV', args, argsBefore, 2)}})
    if type(reply) == 'table' and reply.err then error(reply) end
    replies[${i + 2}] = reply or false`;
    keysBefore += keys;
    argsBefore += args;
    if (!script.isGuard) return run;
    return `${run}
    if type(reply) == 'table' then reply = reply[1] end
    if reply == 0 or not reply then return end`;
  });
  return `${START}
  ${[...libraries].join('\n')}
  ${functions.join('\n')}
  local refusals = {${REFUSALS}}
  local rows = tonumber(ARGV[1])
  local function run(row, replies)
    local reply
    ${runs.join('\n')}
  end
  local all = {}
  for row = 1, rows do
    local replies = {false}
    local ok, err = pcall(run, row, replies)
    if not ok then
      local text = ${TEXT_OF_ERROR}
      if refusals[string.match(text, '^%u+')] then return {err = text} end
      replies[1] = text
    end
    all[row] = replies
  end
  ${END}
  return all`;
}
