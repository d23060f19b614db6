import { type Findings, visit } from './explore';
import { oneJobForLife } from './one-job-for-life';
import type { Bounds, Choices } from './one-job-state';

export const ONE_DELIVERY: Bounds = {
  deliveries: 1,
  runs: 2,
  attempts: 2,
  faults: Number.POSITIVE_INFINITY,
  accidents: 'all',
};

export function visitOneJob(name: string, bounds: Bounds, choices: Partial<Choices> = {}): Findings {
  return visit(
    `one job for life, ${name}`,
    oneJobForLife({ bounds, admission: 'reads the gate', ...choices }),
  );
}
