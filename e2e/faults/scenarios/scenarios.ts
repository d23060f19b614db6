import { failOvers } from './fail-over';
import { historyOutage } from './history-outage';
import { oldRedises } from './old-redis';
import { powerCuts } from './power-cut';
import { restoreDrills } from './restore-drill';
import type { Scenario } from './scenario';
import { syncCost } from './sync-cost';
import { wideFanOut } from './wide-fan-out';

/** What breaks something. */
export const scenarios: readonly Scenario[] = [
  wideFanOut,
  ...failOvers,
  ...powerCuts,
  ...restoreDrills,
  ...oldRedises,
];

/** What only measures, and has no place in the table. */
export const measurements: readonly Scenario[] = [syncCost, historyOutage];

export function scenarioNamed(name: string): Scenario | undefined {
  return [...scenarios, ...measurements].find((scenario) => scenario.name === name);
}
