import { setTimeout as wait } from 'node:timers/promises';
import { BULK_TYPE, type EndpointSpec } from './endpoints';
import type { InjectedFault } from './ledger';
import { nameIn } from './mode';
import { Progress } from './progress';
import type { RunResult } from './run-result';
import { type Patience, type RunSetting, runService } from './run-service';

export const BURSTS = 'bursts';
export const USUAL_BURSTS = 18;
const EVENTS_PER_BURST = 100;
const ENDPOINTS = 10;
const RATE_LIMIT_PER_SECOND = 50;
// Two seconds are what a burst takes at this limit: in the rest the gates have nothing to do but to open.
const BURST_EVERY_MS = 4_000;

const limitedEndpoints: readonly EndpointSpec[] = Array.from({ length: ENDPOINTS }, (_, i) => ({
  name: `limited-${i}`,
  events: [BULK_TYPE],
  respondsAfterMs: 0,
  options: { rate_limit: RATE_LIMIT_PER_SECOND },
}));

export interface BurstsRunOptions extends RunSetting {
  readonly bursts: number;
  readonly patience: Patience;
}

/** Nothing is broken: more comes at once than the endpoints' rate limits let through, again and again. */
export async function runBursts({ bursts, ...options }: BurstsRunOptions): Promise<RunResult> {
  const progress = new Progress(BURSTS);
  return await runService({
    ...options,
    fault: nameIn(BURSTS, options.mode),
    specs: limitedEndpoints,
    rates: { bulk: 0, sparse: 0, sequential: 0 },
    progress,
    async act({ publisher }) {
      const sent: InjectedFault[] = [];
      for (let burst = 1; burst <= bursts; burst += 1) {
        progress.show(`burst ${burst} of ${bursts}`);
        const startedAt = Date.now();
        await Promise.all([publisher.burst(BULK_TYPE, EVENTS_PER_BURST), wait(BURST_EVERY_MS)]);
        sent.push({
          kind: nameIn(BURSTS, options.mode),
          victim: 'nobody',
          mayRepeat: false,
          startedAt,
          endedAt: Date.now(),
        });
      }
      return sent;
    },
  });
}
