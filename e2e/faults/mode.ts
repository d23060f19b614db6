import { historyObstacle } from './kinds/history-faults';

/** What has an event before its 202, beside Redis: then nothing acknowledged may be lost, whatever Redis loses. */
export type Mode = keyof typeof describedModes;

export const describedModes = {
  confirmed: 'a replica has it (REDIS_CONFIRMED_BY=1)',
  durable: 'PostgreSQL has it (INTAKE=durable)',
} as const;

const modes = Object.keys(describedModes) as readonly Mode[];

/** As it is asked for, and listed in the table. */
export function nameIn(name: string, mode: Mode | undefined): string {
  return mode === undefined ? name : `${name}-${mode}`;
}

/** These, and each of them in each mode. */
export function inAllModes(names: readonly string[]): readonly string[] {
  return [undefined, ...modes].flatMap((mode) => names.map((name) => nameIn(name, mode)));
}

/** @param usual the mode of a name that says none. */
export function splitName(
  full: string,
  usual?: Mode,
): { readonly name: string; readonly mode?: Mode | undefined } {
  const mode = modes.find((each) => full.endsWith(`-${each}`));
  return mode === undefined ? { name: full, mode: usual } : { name: full.slice(0, -mode.length - 1), mode };
}

/** @throws for one that there is not. */
export function parseMode(text: string): Mode {
  const mode = modes.find((each) => each === text);
  if (mode === undefined) throw new Error(`--mode takes ${modes.join(' or ')}.`);
  return mode;
}

/** Why nothing can run in it on this machine; undefined where it can. */
export function modeObstacle(mode: Mode | undefined): string | undefined {
  return mode === 'durable' ? historyObstacle() : undefined;
}
