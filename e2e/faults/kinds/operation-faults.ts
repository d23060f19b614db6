import { setTimeout as wait } from 'node:timers/promises';
import { during, type FaultKind } from './fault-kind';
import { restart } from './process-faults';

const WORKERS_AT_MOST = 4;

/** What operators do on purpose: none of it may have anything sent twice. */
export const operationFaults: readonly FaultKind[] = [
  {
    name: 'rolling-deploy',
    what: 'every process is ended by SIGTERM and started anew, one after the other',
    mayRepeat: false,
    usualCount: 3,
    inject: async ({ service }) =>
      await during('everybody', async () => {
        for (const part of [...service.apis, ...service.workers]) await restart(part);
      }),
  },
  {
    name: 'scale-1-4-1',
    what: 'one worker, four workers, one worker, and two again',
    mayRepeat: false,
    usualCount: 2,
    inject: async ({ service, random }) =>
      await during('workers', async () => {
        const usual = service.workers.length;
        while (service.workers.length > 1) await service.removeWorker();
        await wait(random.between(500, 2_000));
        while (service.workers.length < WORKERS_AT_MOST) await service.addWorker();
        await wait(random.between(1_000, 3_000));
        while (service.workers.length > 1) await service.removeWorker();
        while (service.workers.length < usual) await service.addWorker();
      }),
  },
];
