import { faultKindNamed, faultKinds } from './fault-kinds';
import type { FaultKind } from './kinds/fault-kind';
import type { Random } from './random';

/** A fault, and the seed that all its choices follow from. */
export interface Step {
  readonly kind: FaultKind;
  readonly seed: number;
}

/** What is broken, one after the other. */
export type Schedule = readonly Step[];

export function planSteps(kinds: readonly FaultKind[], random: Random): Schedule {
  return kinds.map((kind) => ({ kind, seed: random.between(0, 999_999) }));
}

/** As `--schedule` takes it: `worker-kill:17,redis-outage-1s:4`. */
export function formatSchedule(schedule: Schedule): string {
  return schedule.map(({ kind, seed }) => `${kind.name}:${seed}`).join(',');
}

/** @throws for a fault that there is not. */
export function parseSchedule(text: string): Schedule {
  return text.split(',').map((part) => {
    const [name = '', seed = '0'] = part.trim().split(':');
    const kind = faultKindNamed(name);
    if (!kind) throw new Error(`There is no fault "${name}". The faults are: ${names()}.`);
    return { kind, seed: Number(seed) };
  });
}

/** Those that this machine can have; says of each other one why not. */
export async function possibleKinds(
  kinds: readonly FaultKind[],
  say: (text: string) => void,
): Promise<readonly FaultKind[]> {
  const possible: FaultKind[] = [];
  for (const kind of kinds) {
    const obstacle = await kind.obstacle?.();
    if (obstacle === undefined) possible.push(kind);
    else say(`LEFT OUT: ${kind.name}: ${obstacle}`);
  }
  return possible;
}

function names(): string {
  return faultKinds.map(({ name }) => name).join(', ');
}
