/** One atomic step of a protocol: a command to Redis, a script, or what the world does. */
export interface Step<State> {
  readonly name: string;
  /** Whether it may be counted on: no fault, no accident and no help from outside. */
  readonly isOrdinary: boolean;
  readonly next: State;
}

export function ordinary<State>(name: string, next: State): Step<State> {
  return { name, isOrdinary: true, next };
}

export function accident<State>(name: string, next: State): Step<State> {
  return { name, isOrdinary: false, next };
}

export interface Taken<State> {
  readonly before: State;
  readonly after: State;
}

/** What to look out for at every step that can be taken. */
export type Watches<State> = Readonly<Record<string, (taken: Taken<State>) => boolean>>;

export interface Protocol<State> {
  readonly initial: State;
  readonly stepsFrom: (state: State) => Iterable<Step<State>>;
  /** Two states are the same if their keys are. */
  readonly keyOf: (state: State) => string;
  /** What must never be seen. */
  readonly forbidden: Watches<State>;
  /** What may be seen. That it is shows that the search comes to where it matters. */
  readonly possible: Watches<State>;
  /** Nothing is left to do. Every state is expected to lead to such a one by ordinary steps alone. */
  readonly isAtRest: (state: State) => boolean;
}

export interface Sighting {
  readonly count: number;
  /** The names of the fewest steps that lead to it. */
  readonly trace: readonly string[];
}

export interface Findings {
  readonly states: number;
  readonly steps: number;
  /** Only what was seen. */
  readonly sightings: ReadonlyMap<string, Sighting>;
  /** Of what must never be seen, a state that leads to none at rest included: what was, with the shortest way to it. */
  readonly violations: Readonly<Record<string, readonly string[]>>;
}

/** The sighting of a state that leads to none at rest. */
export const STUCK = 'stuck';

/** Explores, and says how much there was to visit: what is claimed of all states is worth what their number is. */
export function visit<State>(name: string, protocol: Protocol<State>): Findings {
  const findings = explore(protocol);
  process.stdout.write(`${name}: ${findings.states} states, ${findings.steps} steps\n`);
  return findings;
}

/** Visits every state that can be reached, the nearest first. Takes memory for each: some hundred bytes. */
export function explore<State>(protocol: Protocol<State>): Findings {
  const numbers = new Map([[protocol.keyOf(protocol.initial), 0]]);
  const reachedBy: { readonly from: number; readonly name: string }[] = [{ from: -1, name: '' }];
  const ordinarySources: number[][] = [[]];
  const atRest: number[] = [];
  const sightings = new Map<string, Sighting>();
  const watches = Object.entries({ ...protocol.forbidden, ...protocol.possible });

  let steps = 0;
  let layer = [protocol.initial];
  for (let number = 0; layer.length > 0; ) {
    const nextLayer: State[] = [];
    for (const state of layer) {
      if (protocol.isAtRest(state)) atRest.push(number);
      for (const step of protocol.stepsFrom(state)) take(state, number, step, nextLayer);
      number += 1;
    }
    layer = nextLayer;
  }
  findStuck();
  const violated = [...sightings].filter(([name]) => name === STUCK || name in protocol.forbidden);
  const violations = Object.fromEntries(violated.map(([name, { trace }]) => [name, trace]));
  return { states: numbers.size, steps, sightings, violations };

  function take(before: State, from: number, step: Step<State>, nextLayer: State[]): void {
    steps += 1;
    const key = protocol.keyOf(step.next);
    let to = numbers.get(key);
    if (to === undefined) {
      to = numbers.size;
      numbers.set(key, to);
      reachedBy.push({ from, name: step.name });
      ordinarySources.push([]);
      nextLayer.push(step.next);
    }
    if (step.isOrdinary) ordinarySources[to]?.push(from);
    const taken = { before, after: step.next };
    for (const [name, isSeen] of watches) {
      if (isSeen(taken)) see(name, () => [...traceTo(from), step.name]);
    }
  }

  // Backwards from the states at rest: what is not met leads to none of them.
  function findStuck(): void {
    const leadsToRest = new Set(atRest);
    for (const number of leadsToRest) {
      for (const source of ordinarySources[number] ?? []) leadsToRest.add(source);
    }
    for (let number = 0; number < numbers.size; number += 1) {
      if (!leadsToRest.has(number)) see(STUCK, () => traceTo(number));
    }
  }

  // The nearest states come first, so the first trace is the shortest.
  function see(name: string, trace: () => readonly string[]): void {
    const seen = sightings.get(name);
    sightings.set(name, { count: (seen?.count ?? 0) + 1, trace: seen?.trace ?? trace() });
  }

  function traceTo(number: number): readonly string[] {
    const names: string[] = [];
    for (let at = reachedBy[number]; at && at.from >= 0; at = reachedBy[at.from]) names.unshift(at.name);
    return names;
  }
}
