import { explore, type Findings, type Protocol, STUCK } from './explore';
import { oneJobForLife } from './one-job-for-life';
import { forbidden } from './one-job-sightings';
import type { Bounds, Choices } from './one-job-state';

export const ONE_DELIVERY: Bounds = {
  deliveries: 1,
  runs: 2,
  attempts: 2,
  faults: Number.POSITIVE_INFINITY,
  accidents: 'all',
};

export const NEVER: readonly string[] = [...Object.keys(forbidden), STUCK];

/** Says how much there was to visit: what is claimed of all states is worth what their number is. */
export function visit<State>(name: string, protocol: Protocol<State>): Findings {
  const findings = explore(protocol);
  process.stdout.write(`${name}: ${findings.states} states, ${findings.steps} steps\n`);
  return findings;
}

/** Of those that must not be seen, the ones that were, each with the shortest way to it. */
export function violationsOf({ sightings }: Findings): Record<string, readonly string[]> {
  const seen = [...sightings].filter(([name]) => NEVER.includes(name));
  return Object.fromEntries(seen.map(([name, { trace }]) => [name, trace]));
}

export function visitOneJob(name: string, bounds: Bounds, choices: Partial<Choices> = {}): Findings {
  return visit(
    `one job for life, ${name}`,
    oneJobForLife({ bounds, admission: 'reads the gate', ...choices }),
  );
}
