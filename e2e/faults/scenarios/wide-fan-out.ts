import { setTimeout as wait } from 'node:timers/promises';
import { BULK_TYPE, type EndpointSpec } from '../endpoints';
import { during } from '../kinds/fault-kind';
import type { InjectedFault } from '../ledger';
import { Progress } from '../progress';
import { runService } from '../run-service';
import type { Scenario } from './scenario';

const NAME = 'wide-fan-out-kill';
const ENDPOINTS = 10_000;
const PATIENCE = { stuckAfterMs: 300_000, silentForMs: 60_000 };

const specs: readonly EndpointSpec[] = Array.from({ length: ENDPOINTS }, (_, i) => ({
  name: `wide-${i}`,
  events: [BULK_TYPE],
  respondsAfterMs: 0,
}));

/** One event for ten thousand endpoints, and both workers die in the middle, one after the other. */
export const wideFanOut: Scenario = {
  name: NAME,
  what: `one event for ${ENDPOINTS} endpoints, and each worker is killed in the middle of it`,
  usualCount: 1,
  run: async (setting) =>
    await runService({
      ...setting,
      specs,
      rates: { bulk: 0, sparse: 0, sequential: 0 },
      patience: PATIENCE,
      progress: new Progress(setting.fault),
      async act({ service, publisher }) {
        const strikes: InjectedFault[] = [];
        const published = publisher.publishUntilAcknowledged(publisher.prepare(BULK_TYPE));
        for (const worker of service.workers) {
          await wait(setting.random.between(200, 3_000));
          const strike = await during(worker.name, () => worker.end('SIGKILL'));
          await worker.start();
          const isFurtherStrike = strikes.length > 0;
          strikes.push({
            kind: NAME,
            mayRepeat: true,
            ...strike,
            ...(isFurtherStrike && { isFurtherStrike }),
          });
        }
        await published;
        return strikes;
      },
    }),
};
