import { createHash } from 'node:crypto';
import { Cluster, ReplyError } from 'ioredis';
import { type RedisClient, sendGathered } from './redis-connect';

/** The target of a script: Redis, or a unit of scripts that goes there at the end of this turn. */
export type ScriptTarget = RedisClient | ScriptUnit;

/** Run a script over keys that share one hash tag. Numbers are passed as texts. */
export type RunScript = (
  target: ScriptTarget,
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<unknown>;

interface Script {
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

/**
 * A script that is called by its digest: its text is sent only to a server that does not know it yet.
 *
 * Several may run as one: see `ScriptTurn`. So that each does not repeat what is the same for all of them,
 * they have `once`, a table that is empty at the start, and `at_end(name, action)`, which runs an action when
 * all of them are over, and the first one of each name only.
 *
 * @param body a function's, of `KEYS` and `ARGV`.
 * @param libraries local functions that it calls. Each is there once, however many scripts have it.
 */
export function defineScript(body: string, ...libraries: readonly string[]): RunScript {
  return runnerOf(toScript(body, libraries, false));
}

/**
 * A script that decides whether the steps after it run: not if it replies with 0, or with a list that begins
 * with 0.
 */
export function defineGuard(body: string, ...libraries: readonly string[]): RunScript {
  return runnerOf(toScript(body, libraries, true));
}

function toScript(body: string, libraries: readonly string[], isGuard: boolean): Script {
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

const START = `
  local once, endings = {}, {}
  local function at_end(name, action)
    if once[name] then return end
    once[name] = true
    endings[#endings + 1] = action
  end`;
const END = 'for _, action in ipairs(endings) do action() end';

function digestOf(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}

function runnerOf(script: Script): RunScript {
  return async function runScript(target, keys, args) {
    if (target instanceof ScriptUnit) return await target.add(script, keys, args);
    return await run(target, script, keys.length, [...keys, ...args.map(String)]);
  };
}

async function run(
  redis: RedisClient,
  { text, digest }: Pick<Script, 'text' | 'digest'>,
  keyCount: number,
  parameters: readonly (string | number)[],
): Promise<unknown> {
  try {
    return await redis.evalsha(digest, keyCount, ...parameters);
  } catch (error) {
    if (!isUnknownScript(error)) throw error;
    return await redis.eval(text, keyCount, ...parameters);
  }
}

// The first word of Redis' reply is its code.
function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

/** Call its scripts on the target, before it waits for anything. */
export type Step = (target: ScriptTarget) => Promise<unknown>;

/**
 * Run steps one after the other: no step takes effect unless all before it have, whenever and however it
 * breaks off. Resolves with whether all ran: not when a guard kept the later ones from it.
 *
 * @param patienceMs how long steps that are not urgent may wait, so that they go to Redis along with others.
 *   What waits goes at once when steps without patience are run, even if there are none.
 */
export type InOrder = (steps: readonly Step[], patienceMs?: number) => Promise<boolean>;

/**
 * One server runs all steps as one script: nothing comes between them, neither a crash nor a lack of memory.
 * The steps of all callers of one turn of the event loop go there as one command. In a Cluster, where each
 * node has its own keys, each step waits for those before.
 */
export function createInOrder(redis: RedisClient): InOrder {
  return redis instanceof Cluster ? oneByOne(redis) : asOne(redis);
}

export function asOne(redis: RedisClient): InOrder {
  const turn = new ScriptTurn(redis);
  return async function takeAsOne(steps, patienceMs = 0) {
    const unit = new ScriptUnit();
    const begun = steps.map((step) => {
      const result = step(unit);
      // It is awaited below, maybe after it has failed.
      result.catch(() => {});
      return { result, callsSoFar: unit.calls.length };
    });
    const settled = await turn.send(unit, patienceMs);
    const ran = begun.filter(({ callsSoFar }) => callsSoFar <= settled);
    // One after the other: of several that fail together, the first one's error is the error.
    for (const { result } of ran) await result;
    return ran.length === begun.length;
  };
}

export function oneByOne(redis: RedisClient): InOrder {
  return async function takeOneByOne(steps) {
    for (const step of steps) {
      const unit = new ScriptUnit();
      const result = step(unit);
      result.catch(() => {});
      const goesOn = await unit.runEach(redis);
      await result;
      if (!goesOn) return false;
    }
    return true;
  };
}

interface Call {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Calls of scripts that Redis runs as one, in their order: all of them take effect or, when it can't accept
 * them, none. If a call fails because of the data it finds, those before it have taken effect and those after
 * it have not. Those behind a guard that stops them never settle.
 */
export class ScriptUnit {
  readonly calls: Call[] = [];
  /** The texts that replies refer to by their number, from 1 on: see `shared` in `joinedText`. */
  texts: readonly string[] = [];
  #isClosed = false;
  #parameters = 0;

  /** How many keys and arguments its calls have. */
  get parameters(): number {
    return this.#parameters;
  }

  /** Resolves with the script's reply. @throws Error when the unit is on its way. */
  add(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    if (this.#isClosed) throw new Error('A script was called after its unit was sent.');
    this.#parameters += keys.length + args.length;
    return new Promise((resolve, reject) => this.calls.push({ script, keys, args, resolve, reject }));
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Run each call by itself. Gives whether no guard stops what comes after. */
  async runEach(redis: RedisClient): Promise<boolean> {
    this.close();
    const runs = this.calls.map(async ({ script, keys, args, resolve, reject }) => {
      try {
        const reply = await run(redis, script, keys.length, [...keys, ...args.map(String)]);
        resolve(reply);
        return !(script.isGuard && isStop(reply));
      } catch (error) {
        reject(error);
        return false;
      }
    });
    return (await Promise.all(runs)).every(Boolean);
  }

  /** Settle the calls that have run. @param replies an error or `null`, then the reply of each. */
  settle([error, ...replies]: readonly unknown[]): void {
    for (const [i, reply] of replies.entries()) this.calls[i]?.resolve(reply);
    if (error !== null) this.fail(new ReplyError(error));
  }

  /** Settle the calls that are not settled yet. */
  fail(error: unknown): void {
    for (const { reject } of this.calls) reject(error);
  }
}

function isStop(reply: unknown): boolean {
  const first: unknown = Array.isArray(reply) ? reply[0] : reply;
  return first === 0 || first === null;
}

// Redis serves nobody else while a script runs: this many take it a millisecond or two.
const MOST_PARAMETERS = 2_000;

interface Sending {
  readonly unit: ScriptUnit;
  /** Called with how many of its calls have been settled, the first ones. */
  readonly settled: (calls: number) => void;
}

/**
 * What a process asks of Redis in one turn of the event loop: one script, and one reply. The units know
 * nothing of each other: one that fails because of the data that it finds leaves the others alone.
 */
class ScriptTurn {
  #units: Sending[] = [];
  #parameters = 0;
  /** All that this process has ever sent, so that the text of the script changes a few times only. */
  readonly #scripts = new Set<Script>();
  #joined: Joined | undefined;
  #isAtEndOfTurn = false;
  #patience: NodeJS.Timeout | undefined;

  constructor(private readonly redis: RedisClient) {}

  /** Resolves with how many of its calls have been settled, the first ones. */
  send(unit: ScriptUnit, patienceMs: number): Promise<number> {
    unit.close();
    if (this.#parameters + unit.parameters > MOST_PARAMETERS) this.#flush();
    // Nothing that waits like this keeps a process from its end.
    if (patienceMs > 0) this.#patience ??= setTimeout(this.#flush, patienceMs).unref();
    else this.#flushAtEndOfTurn();
    if (unit.calls.length === 0) return Promise.resolve(0);
    this.#parameters += unit.parameters;
    return new Promise((settled) => this.#units.push({ unit, settled }));
  }

  #flushAtEndOfTurn(): void {
    if (this.#isAtEndOfTurn) return;
    this.#isAtEndOfTurn = true;
    setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    this.#isAtEndOfTurn = false;
    clearTimeout(this.#patience);
    this.#patience = undefined;
    const units = this.#units;
    this.#units = [];
    this.#parameters = 0;
    void this.#sendAll(units);
  };

  async #sendAll(units: readonly Sending[]): Promise<void> {
    if (units.length === 0) return;
    const joined = this.#joinedFor(units);
    const { keys, parameters } = parametersOf(units, joined);
    try {
      const running = run(this.redis, joined, keys, parameters);
      // The end of this turn is now: the next one would be that of the reply.
      sendGathered(this.redis);
      const [replies, texts] = (await running) as JoinedReply;
      for (const [i, { unit, settled }] of units.entries()) {
        const reply = replies[i] ?? [];
        unit.texts = texts;
        unit.settle(reply);
        settled(reply[0] === null ? reply.length - 1 : unit.calls.length);
      }
    } catch (error) {
      for (const { unit, settled } of units) {
        unit.fail(error);
        settled(unit.calls.length);
      }
    }
  }

  #joinedFor(units: readonly Sending[]): Joined {
    const before = this.#scripts.size;
    for (const { unit } of units) for (const { script } of unit.calls) this.#scripts.add(script);
    if (this.#joined && this.#scripts.size === before) return this.#joined;
    this.#joined = join([...this.#scripts].toSorted((a, b) => a.number - b.number));
    return this.#joined;
  }
}

type JoinedReply = readonly [replies: readonly (readonly unknown[])[], texts: readonly string[]];

interface Joined extends Pick<Script, 'text' | 'digest'> {
  readonly places: ReadonlyMap<Script, number>;
}

function join(scripts: readonly Script[]): Joined {
  const libraries = new Set(scripts.flatMap((script) => script.libraries));
  const functions = scripts.map(({ body }) => `function(KEYS, ARGV)\n${body}\nend`).join(',\n');
  const guards = scripts.map(({ isGuard }) => isGuard).join(', ');
  const text = joinedText([...libraries].join('\n'), functions, guards);
  return { text, digest: digestOf(text), places: new Map(scripts.map((script, i) => [script, i + 1])) };
}

/** The parameters of the joined script: see `joinedText`. */
function parametersOf(
  units: readonly Sending[],
  { places }: Joined,
): { readonly keys: number; readonly parameters: readonly (string | number)[] } {
  const allKeys: string[] = [];
  const head: number[] = [];
  const allArgs: (string | number)[] = [];
  for (const { unit } of units) {
    head.push(unit.calls.length);
    for (const { script, keys, args } of unit.calls) {
      head.push(places.get(script) ?? 0, keys.length, args.length);
      for (const key of keys) allKeys.push(key);
      for (const arg of args) allArgs.push(arg);
    }
  }
  const parameters = [...allKeys, units.length, head.length + 3, ...head, ...allArgs];
  return { keys: allKeys.length, parameters };
}

// KEYS: those of all calls. ARGV: how many units; where the arguments of the calls begin; for each unit how
// many calls, and for each of them which script, how many keys and how many arguments; then the arguments.
// Gives for each unit its error or false, and then the reply of each call that has run without one; and the
// texts that the scripts have shared. When Redis itself refuses to write, nothing was written: that is the error of all.
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
  local refusals = {OOM = 1, READONLY = 1, MISCONF = 1, NOREPLICAS = 1}
  local at, key, arg = 3, 1, tonumber(ARGV[2])
  local function part_of(list, from, count)
    if count < 4000 then return {unpack(list, from, from + count - 1)} end
    local part = {}
    for i = 1, count do part[i] = list[from + i - 1] end
    return part
  end
  local function run(calls, replies)
    for call = 1, calls do
      local script, keys, args = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
      local my_keys, my_args = part_of(KEYS, key, keys), part_of(ARGV, arg, args)
      at, key, arg = at + 3, key + keys, arg + args
      local reply = scripts[script](my_keys, my_args)
      local first = reply
      if type(reply) == 'table' then
        if reply.err then error(reply) end
        first = reply[1]
      end
      replies[call + 1] = reply or false
      if guards[script] and (first == 0 or not first) then return end
    end
  end
  local all = {}
  for unit = 1, tonumber(ARGV[1]) do
    local calls, replies = tonumber(ARGV[at]), {false}
    at = at + 1
    local next_unit = at + 3 * calls
    local ok, err = pcall(run, calls, replies)
    if not ok then
      local text = type(err) == 'table' and err.err or tostring(err)
      if refusals[string.match(text, '^%u+')] then return {err = text} end
      replies[1] = text
    end
    while at < next_unit do
      key, arg, at = key + tonumber(ARGV[at + 1]), arg + tonumber(ARGV[at + 2]), at + 3
    end
    all[unit] = replies
  end
  ${END}
  return {all, texts}`;
}
