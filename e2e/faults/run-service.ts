import { once } from 'node:events';
import { join } from 'node:path';
import { AcknowledgedFile } from './acknowledged-file';
import { checkRun } from './check-run';
import { findOwed } from './checks/find-lost';
import { drain } from './drain';
import type { EndpointSpec } from './endpoints';
import type { InjectedFault, Ledger, RecordedDelivery } from './ledger';
import { findOpenBreakers } from './open-breakers';
import type { Progress } from './progress';
import { Publisher, type Rates } from './publisher';
import { QueueObserver } from './queue-depths';
import { QueueProducer } from './queue-producer';
import type { Random } from './random';
import { readRecorded } from './read-recorded';
import { Receivers } from './receivers';
import { type RegisteredEndpoint, registerEndpoints } from './register-endpoints';
import type { RunResult } from './run-result';
import { Service } from './service';

export interface Patience {
  /** The longest wait for everything to arrive, once publishing has ended. */
  readonly drainWithinMs: number;
  /** When nothing has come for so long, no queue holds a job, and no breaker is open, what is owed will never come. */
  readonly silentForMs: number;
}

export interface Scene {
  readonly service: Service;
  readonly receivers: Receivers;
  readonly publisher: Publisher;
}

/** What all runs of a suite have in common. */
export interface RunSetting {
  /** The root of a built checkout whose programs are run. */
  readonly build: string;
  readonly random: Random;
  /** Is shown everything that a run's checks are made from. */
  readonly keep: (ledger: Ledger) => Promise<void>;
  /** Ends a run before its time, leaving nothing behind. */
  readonly signal: AbortSignal;
}

export interface RunOptions extends RunSetting {
  /** What is tried. */
  readonly fault: string;
  readonly specs: readonly EndpointSpec[];
  readonly rates: Rates;
  readonly patience: Patience;
  readonly progress: Progress;
  /** Has events published, and breaks what is to be broken. */
  readonly act: (scene: Scene) => Promise<readonly InjectedFault[]>;
}

/** One life of the service: starts it, lets `act` have its way, waits until all has arrived, and checks. */
export async function runService(options: RunOptions): Promise<RunResult> {
  options.progress.show('starting');
  const service = await Service.start(options.build);
  const receivers = await Receivers.start();
  const producer = new QueueProducer(service.redis.port);
  const observer = new QueueObserver(service.redis.port);
  try {
    return await Promise.race([
      actAndCheck(options, service, receivers, producer, observer),
      rejectOnAbort(options.signal),
    ]);
  } finally {
    await producer.close();
    await observer.close();
    receivers.stop();
    await service.stop();
  }
}

async function actAndCheck(
  { fault, specs, rates, random, patience, progress, keep, act }: RunOptions,
  service: Service,
  receivers: Receivers,
  producer: QueueProducer,
  observer: QueueObserver,
): Promise<RunResult> {
  const startedAt = Date.now();
  const registered = await registerEndpoints(service.client, receivers, specs);
  const file = await AcknowledgedFile.create(join(service.folder, 'acknowledged.ndjson'));
  const publisher = new Publisher({ targets: service.targets, producer, acknowledged: file, rates, random });
  const faults = await act({ service, receivers, publisher });
  progress.show('waiting for acknowledgements');
  await publisher.stop();
  const acknowledged = await file.close();
  const depths = await drain({
    ...patience,
    countOwed: () => findOwed(acknowledged.values(), receivers.accepted, specs).length,
    countRequests: () => receivers.requests.length,
    readDepths: () => observer.read(),
    findOpenBreakers: () => findOpenBreakers(service.client, registered),
    progress,
  });
  const recorded = await readAll(service, registered);
  const { published } = publisher;
  const { requests } = receivers;
  const ledger: Ledger = { published, acknowledged, requests, faults, recorded };
  await keep(ledger);
  return checkRun({ fault, startedAt, ledger, specs, depths });
}

async function rejectOnAbort(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw signal.reason;
}

async function readAll(
  { client }: Service,
  registered: readonly RegisteredEndpoint[],
): Promise<readonly RecordedDelivery[]> {
  const lists: (readonly RecordedDelivery[])[] = [];
  for (const { spec, webhookId, headers } of registered) {
    lists.push(await readRecorded(client, spec.name, webhookId, headers));
  }
  return lists.flat();
}
