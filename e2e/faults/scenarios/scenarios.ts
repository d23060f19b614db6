import { failOvers } from './fail-over';
import { powerCuts } from './power-cut';
import { restoreDrill } from './restore-drill';
import type { Scenario } from './scenario';
import { upgrade } from './upgrade';
import { wideFanOut } from './wide-fan-out';

export const scenarios: readonly Scenario[] = [wideFanOut, upgrade, ...failOvers, ...powerCuts, restoreDrill];

export function scenarioNamed(name: string): Scenario | undefined {
  return scenarios.find((scenario) => scenario.name === name);
}
