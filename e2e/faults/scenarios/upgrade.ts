import { setTimeout as wait } from 'node:timers/promises';
import { buildFormerVersion } from '../../support/former-build';
import { endpoints, VOLUME_TYPE } from '../endpoints';
import { during } from '../kinds/fault-kind';
import type { InjectedFault } from '../ledger';
import { Progress } from '../progress';
import { REPOSITORY } from '../repository';
import { runService } from '../run-service';
import type { Scenario } from './scenario';

const NAME = 'rolling-upgrade';
// The version before the one that is tried: the last whose deliveries had two job ids by turns, on two queues.
const FORMER_VERSION = '829e12881db2a5be5193c49eb5a6b71a948a63fc';
const PATIENCE = { stuckAfterMs: 300_000, silentForMs: 75_000 };
const BETWEEN_MS = 3_000;

/** Every process of the former version is replaced by one of this version, while events come in. */
export const upgrade: Scenario = {
  name: NAME,
  what: 'every process of the former version is replaced by one of this, one after the other, under load',
  usualCount: 1,
  obstacle: async () =>
    await buildFormerVersion(FORMER_VERSION, REPOSITORY).then(
      () => undefined,
      (error: Error) => `the former version can not be built: ${error.message}`,
    ),
  run: async (setting) =>
    await runService({
      ...setting,
      build: await buildFormerVersion(FORMER_VERSION, REPOSITORY),
      fault: NAME,
      specs: endpoints.filter(({ events }) => !events.includes(VOLUME_TYPE)),
      rates: { bulk: 25, sparse: 8, sequential: 5 },
      patience: PATIENCE,
      progress: new Progress(NAME),
      async act({ service, publisher }) {
        publisher.start();
        await wait(BETWEEN_MS);
        const strikes: InjectedFault[] = [];
        for (const part of [...service.apis, ...service.workers]) {
          const strike = await during(part.name, () => service.upgrade(part, setting.build));
          // The former version promised less: its last worker's locks may have to run out.
          strikes.push({ kind: NAME, mayRepeat: true, ...strike });
          await wait(BETWEEN_MS);
        }
        return strikes;
      },
    }),
};
