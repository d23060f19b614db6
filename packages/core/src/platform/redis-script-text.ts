import { createHash } from 'node:crypto';
import { atEnd, endings, once, refuseLate } from './redis-run.script';
import { runAlone, shared as sharedAlone } from './redis-run-alone.script';
import {
  runCalls,
  runJoined,
  shared,
  sharedNumbers,
  sharedTexts,
  writeRefusals,
} from './redis-run-joined.script';
import { timeNow } from './redis-time.script';

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
  /** The pieces that it is made of, its own last. */
  readonly files: readonly Library[];
}

/** The Lua of a file. */
export interface Library {
  /** Below `src`. */
  readonly file: string;
  /** Of the file, where it begins. */
  readonly line: number;
  readonly body: string;
}

export interface LuaSource extends Library {
  readonly libraries: readonly Library[];
  readonly isGuard: boolean;
  /** Puts more Lua around the body. */
  readonly wrap?: (body: string) => string;
}

const RUN: readonly Library[] = [timeNow, once, endings, atEnd, refuseLate];
const RUN_ALONE: readonly Library[] = [...RUN, sharedAlone, runAlone];
const RUN_JOINED: readonly Library[] = [
  ...RUN,
  sharedTexts,
  sharedNumbers,
  shared,
  writeRefusals,
  runCalls,
  runJoined,
];

/** The text that has all libraries, each once. @param run what runs the scripts. */
function textOf(run: readonly Library[], libraries: readonly string[], call: string): string {
  const all = new Set([...run.map(({ body }) => body), ...libraries]);
  return `${[...all].join('\n')}\nreturn ${call}`;
}

function functionOf(body: string): string {
  return `function(KEYS, ARGV)\n${body}\nend`;
}

let definedScripts = 0;

/**
 * A script that is called by its digest: its text is sent only to a server that does not know it yet.
 *
 * Several may run as one: see `redis-run.lua` for what they share then.
 */
export function defineLua({
  file,
  line,
  body,
  libraries,
  isGuard,
  wrap = (text) => text,
}: LuaSource): Script {
  definedScripts += 1;
  const whole = wrap(body);
  const bodies = libraries.map((library) => library.body);
  const text = textOf(RUN_ALONE, bodies, `run_alone(${functionOf(whole)}, KEYS, ARGV)`);
  return {
    body: whole,
    libraries: bodies,
    text,
    digest: digestOf(text),
    isGuard,
    number: definedScripts,
    files: [...libraries, { file, line, body }],
  };
}

/** An error of Redis, with the places in our files instead of those in the text that it was sent. */
export function locateIn(text: string, scripts: readonly Script[], message: string): string {
  return message.replaceAll(/@?user_script:(\d+)/g, (found, line) => {
    const before = text.split('\n', Number(line) - 1);
    const at = before.reduce((sum, each) => sum + each.length + 1, 0);
    const files = [...RUN_ALONE, ...RUN_JOINED, ...scripts.flatMap((script) => script.files)];
    for (const { file, line: firstLine, body } of files) {
      const start = text.indexOf(body);
      if (start !== -1 && at >= start && at < start + body.length) {
        return `${file}:${firstLine + text.slice(start, at).split('\n').length - 1}`;
      }
    }
    return found;
  });
}

function digestOf(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}

export interface Joined extends Pick<Script, 'text' | 'digest'> {
  readonly places: ReadonlyMap<Script, number>;
  readonly scripts: readonly Script[];
}

export function join(scripts: readonly Script[]): Joined {
  const functions = scripts.map(({ body }) => functionOf(body)).join(',\n');
  const guards = scripts.map(({ isGuard }) => isGuard).join(', ');
  const libraries = scripts.flatMap((script) => script.libraries);
  const text = textOf(RUN_JOINED, libraries, `run_joined({${functions}}, {${guards}}, ARGV)`);
  const places = new Map(scripts.map((script, i) => [script, i + 1]));
  return { text, digest: digestOf(text), places, scripts };
}

/** A call of a script. */
export interface ScriptCall {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly Packed[];
}

/**
 * The argument of the joined script: see `redis-run-joined.lua`. It is a single one, since each of the arguments of a
 * command costs this process twice of what its place in that one does.
 */
export function argumentOf(units: readonly (readonly ScriptCall[])[], { places }: Joined): Buffer {
  return packer.pack(
    units.map((calls) =>
      calls.map(({ script, keys, args }) => [
        places.get(script) ?? 0,
        keys,
        script.files ? args : args.map(String),
      ]),
    ),
  );
}

/** The arguments of a script that is a file of its own and runs by itself. */
export function pack(args: readonly Packed[]): Buffer {
  return packer.pack(args);
}

/** An argument of a script. */
export type Packed =
  | string
  | number
  | boolean
  | undefined
  | Uint8Array
  | readonly Packed[]
  | { readonly [name: string]: Packed };

const PACKED_BYTES = 64 * 1024;
// What MessagePack puts in front of a text or a list.
const HEAD_BYTES = 5;
const NUMBER_BYTES = 9;
const MOST_UINT32 = 0xffffffff;
const MOST_UTF8_BYTES_EACH = 3;
const kinds = {
  nil: 0xc0,
  no: 0xc2,
  yes: 0xc3,
  double: 0xcb,
  uint32: 0xce,
  text: 0xdb,
  list: 0xdd,
  map: 0xdf,
};

/** Packs arguments, for `cmsgpack.unpack` in Redis. */
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
    if (typeof value === 'string') this.#writeText(value);
    else if (typeof value === 'number') this.#writeNumber(value);
    else if (typeof value === 'object') this.#writeObject(value);
    else this.#writeByte(value === undefined ? kinds.nil : value ? kinds.yes : kinds.no);
  }

  #writeObject(value: Extract<Packed, object>): void {
    this.#makeRoom(HEAD_BYTES);
    if (isList(value)) {
      this.#writeHead(kinds.list, value.length);
      for (const part of value) this.#write(part);
    } else if (value instanceof Uint8Array) {
      this.#writeHead(kinds.text, value.length);
      this.#makeRoom(value.length);
      this.#bytes.set(value, this.#at);
      this.#at += value.length;
    } else {
      const names = Object.keys(value);
      this.#writeHead(kinds.map, names.length);
      for (const name of names) {
        this.#writeText(name);
        this.#write(value[name]);
      }
    }
  }

  #writeText(text: string): void {
    this.#makeRoom(HEAD_BYTES + MOST_UTF8_BYTES_EACH * text.length);
    const bytes = this.#bytes.write(text, this.#at + HEAD_BYTES);
    this.#writeHead(kinds.text, bytes);
    this.#at += bytes;
  }

  #writeNumber(value: number): void {
    this.#makeRoom(NUMBER_BYTES);
    if (Number.isInteger(value) && value >= 0 && value <= MOST_UINT32) {
      this.#writeHead(kinds.uint32, value);
      return;
    }
    this.#bytes[this.#at] = kinds.double;
    this.#bytes.writeDoubleBE(value, this.#at + 1);
    this.#at += NUMBER_BYTES;
  }

  #writeByte(byte: number): void {
    this.#makeRoom(1);
    this.#bytes[this.#at] = byte;
    this.#at += 1;
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

function isList(value: object): value is readonly Packed[] {
  return Array.isArray(value);
}

const packer = new Packer();
