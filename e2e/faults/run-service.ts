import { once } from 'node:events';
import { join } from 'node:path';
import { AcknowledgedFile } from './acknowledged-file';
import { checkRun } from './check-run';
import { checkWholeRecord } from './checks/check-whole-record';
import { findOwed } from './checks/find-lost';
import { type Finding, toFindings } from './checks/finding';
import { drain } from './drain';
import { type EndpointSpec, VOLUME_ENDPOINT } from './endpoints';
import type { Scene } from './fault-scene';
import { checkMoved, retryRefused, untilMoved } from './history/check-history';
import { HistoryDatabase } from './history/history-database';
import type { InjectedFault, Ledger, RecordedDelivery, Resend } from './ledger';
import type { Mode } from './mode';
import { findOpenBreakers } from './open-breakers';
import type { Progress } from './progress';
import { Publisher, type Rates } from './publisher';
import { QueueObserver } from './queue-depths';
import { QueueProducer } from './queue-producer';
import type { Random } from './random';
import { readEnded, readRecorded } from './read-recorded';
import { Receivers } from './receivers';
import type { RedisDeployment } from './redis/redis-deployment';
import { startSingleRedis, withReplica } from './redis/single-redis';
import { type RegisteredEndpoint, registerEndpoint, registerEndpoints } from './register-endpoints';
import { checkResources, measureResources } from './resources';
import type { RunResult } from './run-result';
import { Service } from './service';

export interface Patience {
  /** When jobs are left and nothing has moved for so long, nothing will. */
  readonly stuckAfterMs: number;
  /** When nothing has come for so long, no queue holds a job, and no breaker is open, what is owed will never come. */
  readonly silentForMs: number;
}

/** What all runs of a suite have in common. */
export interface RunSetting {
  /** The root of a built checkout whose programs are run. */
  readonly build: string;
  readonly random: Random;
  /** Is shown everything that a run's checks are made from. */
  readonly keep: (ledger: Ledger) => Promise<void>;
  /** HISTORY_MOVE_AFTER. Undefined: there is no history but in Redis, unless a fault needs one. */
  readonly historyMoveAfterMs?: number | undefined;
  /** How long a measurement of a time takes it to be, instead of its usual length. */
  readonly minutes?: number | undefined;
  /** What has an event before its 202, beside Redis. Undefined: nothing. */
  readonly mode?: Mode | undefined;
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
  /** By default one server. */
  readonly startRedis?: () => Promise<RedisDeployment>;
  /** More settings of all processes. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Why Redis itself may lose what was acknowledged: what is lost is then counted, and no finding. */
  readonly redisMayLose?: string;
  /** Has events published, and breaks what is to be broken. */
  readonly act: (scene: Scene) => Promise<readonly InjectedFault[]>;
}

const DURABLE_MOVE_AFTER_MS = 1_000;
// A worker looks for each event a minute after it was accepted, and a minute after Redis went back, once a minute.
const DURABLE_SILENT_FOR_MS = 200_000;

/** One life of the service: starts it, lets `act` have its way, waits until all has arrived, and checks. */
export async function runService(options: RunOptions): Promise<RunResult> {
  options.progress.show('starting');
  const { build, mode } = options;
  const deployment = await (options.startRedis ?? startSingleRedis)();
  const redis = mode === 'confirmed' && deployment.server ? await withReplica(deployment) : deployment;
  const confirmedBy = mode === 'confirmed' ? 1 : 0;
  const isDurable = mode === 'durable';
  const moveAfterMs = options.historyMoveAfterMs ?? (isDurable ? DURABLE_MOVE_AFTER_MS : undefined);
  const environment = {
    ...options.environment,
    REDIS_CONFIRMED_BY: String(confirmedBy),
    INTAKE: isDurable ? 'durable' : 'redis',
  };
  const history =
    moveAfterMs === undefined ? undefined : { database: await HistoryDatabase.start(), moveAfterMs };
  const service = await Service.start({ build, redis, history, environment });
  const receivers = await Receivers.start();
  const producer = new QueueProducer(redis, confirmedBy);
  const observer = new QueueObserver(redis);
  let areLogsWanted = false;
  try {
    const result = await Promise.race([
      actAndCheck(options, service, receivers, producer, observer),
      rejectOnAbort(options.signal),
    ]);
    areLogsWanted = result.findings.length > 0;
    return areLogsWanted ? { ...result, logs: service.folder } : result;
  } finally {
    await producer.close();
    await observer.close();
    receivers.stop();
    await service.stop({ areLogsWanted });
  }
}

async function actAndCheck(
  { fault, rates, random, progress, keep, act, redisMayLose, mode, ...options }: RunOptions,
  service: Service,
  receivers: Receivers,
  producer: QueueProducer,
  observer: QueueObserver,
): Promise<RunResult> {
  const startedAt = Date.now();
  const isDurable = mode === 'durable';
  const patience = isDurable ? { ...options.patience, silentForMs: DURABLE_SILENT_FOR_MS } : options.patience;
  const specs = [...options.specs];
  const registered: RegisteredEndpoint[] = [
    ...(await registerEndpoints(service.client, receivers, specs, rates)),
  ];
  const base = await measureResources(service);
  const file = await AcknowledgedFile.create(join(service.folder, 'acknowledged.ndjson'));
  const publisher = new Publisher({
    targets: service.targets,
    producer,
    acknowledged: file,
    rates,
    random,
    mayRelyOnRedis: !isDurable || redisMayLose === undefined,
    countVolumeArrived: () => receivers.countAccepted(VOLUME_ENDPOINT),
  });
  const checks: Check[] = [];
  const lastChecks: Check[] = [];
  const resends: Resend[] = [];
  const register = async (spec: EndpointSpec) => {
    const one = await registerEndpoint(service.client, receivers, spec);
    specs.push(spec);
    registered.push(one);
    return one;
  };
  const scene: Scene = {
    service,
    receivers,
    publisher,
    specs,
    registered,
    resends,
    register,
    checkLater: (check) => checks.push(check),
    checkWhenMoved: (check) => lastChecks.push(check),
  };
  const { faults, acknowledged } = await publishThrough(act, scene, file, progress);
  progress.show('making the checks that were put off');
  const findings: Finding[] = [];
  for (const check of checks) findings.push(...(await check()));
  await drain({
    ...patience,
    countOwed: () =>
      findOwed({ acknowledged, published: publisher.published }, receivers.accepted, specs).length,
    countRequests: () => receivers.requests.length,
    readDepths: () => observer.read(),
    findOpenBreakers: () => findOpenBreakers(service.client, registered),
    progress,
  });
  const read = async () => await readAll(service, registered);
  const jobsLeft = redisMayLose === undefined ? await observer.describeJobs() : [];
  const recorded = redisMayLose === undefined ? await readEnded(read, patience.silentForMs) : await read();
  if (service.hasHistory) {
    await untilMoved(service, patience.stuckAfterMs, progress);
    findings.push(...(await retryRefused(service)));
    await untilMoved(service, patience.stuckAfterMs, progress);
    findings.push(...(await checkMoved(service)));
    progress.show('reading what has moved');
    // A Redis that went back does not know of attempts that the history has: they come together when it moves.
    if (redisMayLose === undefined) findings.push(...compareRecords(recorded, await read()));
  }
  for (const check of lastChecks) findings.push(...(await check()));
  findings.push(
    ...toFindings(
      'a process ended by itself',
      [...service.apis, ...service.workers].flatMap(({ ownEnds }) => ownEnds),
    ),
  );
  if (redisMayLose === undefined) {
    findings.push(...toFindings('keys of an order left', await observer.findLeftKeys()));
    findings.push(...(await checkWholeRecord(service.client, registered, recorded)));
  }
  const { published } = publisher;
  const { requests } = receivers;
  const ledger: Ledger = { published, acknowledged, requests, faults, resends, recorded };
  findings.push(...(await checkResources(service, base, ledger)));
  await keep(ledger);
  const { mostWorkers } = service;
  return checkRun({
    fault,
    startedAt,
    ledger,
    specs,
    jobsLeft,
    mostWorkers,
    redisMayLose,
    isConfirmed: mode !== undefined,
    findings,
  });
}

/** @throws the error that the run breaks off with. Nothing publishes any more then: it would do so for ever. */
async function publishThrough(
  act: RunOptions['act'],
  scene: Scene,
  file: AcknowledgedFile,
  progress: Progress,
) {
  const { publisher } = scene;
  try {
    const faults = await act(scene);
    progress.show('waiting for acknowledgements');
    await publisher.stop();
    return { faults, acknowledged: await file.close() };
  } catch (error) {
    publisher.giveUp();
    await file.close().catch(() => {});
    throw error;
  }
}

type Check = () => Promise<readonly Finding[]>;

/** What was read while some of it moved, and when all of it had. */
function compareRecords(
  before: readonly RecordedDelivery[],
  after: readonly RecordedDelivery[],
): readonly Finding[] {
  const describe = ({ eventId, endpoint, status, attemptCount }: RecordedDelivery) =>
    `${eventId} at ${endpoint}: ${status} after ${attemptCount} attempts`;
  const [old, now] = [new Set(before.map(describe)), new Set(after.map(describe))];
  return toFindings('listed otherwise once it had moved', [
    ...before
      .map(describe)
      .filter((text) => !now.has(text))
      .map((text) => `before: ${text}`),
    ...after
      .map(describe)
      .filter((text) => !old.has(text))
      .map((text) => `after: ${text}`),
  ]);
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
