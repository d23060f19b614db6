import { inLua, runAlone, ScriptUnit, type Step } from './redis-script';
import { defineLua, type Library, type Packed, type Script } from './redis-script-text';

/** What the modules that `npm run scripts` writes are made of. */
export { defineLua, inLua, type Library, type Step };

declare const guard: unique symbol;
/** A step that decides whether those after it run. */
export type Guard<Reply = unknown> = Step<Reply> & { readonly [guard]: true };

/** @param read makes the reply of what the script gives; `texts` are those that it has shared. */
type Read<Reply> = (reply: never, texts: readonly string[]) => Reply;

export function stepOf<Reply>(
  script: Script,
  keys: readonly string[],
  args: readonly Packed[],
  read: Read<Reply>,
): Step<Reply> {
  return async function runScript(target) {
    if (!(target instanceof ScriptUnit)) {
      return read((await runAlone(target, { script, keys, args })) as never, NO_TEXTS);
    }
    const reply = await target.add(script, keys, args);
    return read(reply as never, target.texts);
  };
}

export function guardOf<Reply>(
  script: Script,
  keys: readonly string[],
  args: readonly Packed[],
  read: Read<Reply>,
): Guard<Reply> {
  return stepOf(script, keys, args, read) as Guard<Reply>;
}

const NO_TEXTS: readonly string[] = [];

/** A constant in a script. */
export function lua(value: string | number | readonly (string | number)[]): string {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return `{${value.map(lua).join(', ')}}`;
  return `'${value.replaceAll(/['\\]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)}'`;
}

/** A text that several calls may reply with: its number, where they have run together. */
export function sharedText(texts: readonly string[], given: unknown): string | undefined {
  if (typeof given === 'string') return given;
  return typeof given === 'number' ? texts[given - 1] : undefined;
}
