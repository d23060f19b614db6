import { failOvers } from './fail-over';
import { goneBack } from './gone-back';
import { historyOutage } from './history-outage';
import type { Scenario } from './scenario';
import { syncCost } from './sync-cost';
import { wideFanOut } from './wide-fan-out';

/** What breaks something. */
export const scenarios: readonly Scenario[] = [wideFanOut, ...failOvers, ...goneBack];

/** What only measures, and has no place in the table. */
export const measurements: readonly Scenario[] = [syncCost, historyOutage];

export function scenarioNamed(name: string): Scenario | undefined {
  return [...scenarios, ...measurements].find((scenario) => scenario.name === name);
}
