import { hostname } from 'node:os';
import type { RedisClock } from '../platform/redis-clock';
import { sealingKeysSchema } from '../platform/sealing-key';
import { VERSION } from '../platform/version';
import { fake } from '../testing/fake';
import { recordSignals } from '../testing/record-signals';
import { signalSamples } from '../testing/signal-samples';
import { TEST_ENCRYPTION_KEY } from '../testing/test-sealer';
import { REPORT_EVERY_MS, type WorkerReport, type WorkerReports } from './redis-worker-reports';
import { AttemptRate, WorkerReporter } from './worker-reporter';

const STARTED_AT = 1_700_000_000_000;
const worker = {
  id: 'f00d42',
  host: hostname(),
  pid: process.pid,
  version: VERSION,
  startedAt: STARTED_AT,
  sendsMail: true,
  settings: { RETENTION: 'a1b2c3d4' },
};

function arrange() {
  let now = 0;
  const saved: WorkerReport[] = [];
  const removed: string[] = [];
  const signals = recordSignals();
  const attempts = new AttemptRate(() => now);
  const store = fake<WorkerReports>({
    save: async (report: WorkerReport) => void saved.push(report),
    remove: async (id: string) => void removed.push(id),
  });
  const reporter = new WorkerReporter({
    workerReports: store,
    workerId: worker.id,
    version: VERSION,
    sendsMail: true,
    sealingKeys: sealingKeysSchema.parse(TEST_ENCRYPTION_KEY),
    settings: worker.settings,
    slots: { inUse: { quick: 3, slow: 1 }, allowed: { quick: 16, slow: 64 } },
    attempts,
    redisClock: fake<RedisClock>({ skewMs: -3.7 }),
    clock: () => STARTED_AT + now,
    emit: signals.listen,
  });
  const attempt = () => attempts.listen(signalSamples['delivery.attempted']);
  return { reporter, store, saved, removed, signals, attempt, wait: (ms: number) => (now += ms) };
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

it('says how the worker is, and how many attempts a second there were since it said so last', async () => {
  const { reporter, saved, attempt, wait } = arrange();
  for (let i = 0; i < 25; i += 1) attempt();
  wait(10_000);
  await reporter.runOnce();
  wait(10_000);
  await reporter.runOnce();
  const slots = { quick: { inUse: 3, allowed: 16 }, slow: { inUse: 1, allowed: 64 } };
  expect(saved).toEqual([
    {
      ...worker,
      slots,
      attemptsPerSecond: 2.5,
      skewMs: -4,
      sealingKeys: [expect.stringMatching(/^[0-9a-f]{8}$/)],
    },
    {
      ...worker,
      slots,
      attemptsPerSecond: 0,
      skewMs: -4,
      sealingKeys: [expect.stringMatching(/^[0-9a-f]{8}$/)],
    },
  ]);
});

it('says so at once, now and then, and no more once it has stopped and has taken it back', async () => {
  const { reporter, saved, removed } = arrange();
  reporter.start();
  await jest.advanceTimersByTimeAsync(0);
  expect(saved).toHaveLength(1);
  await jest.advanceTimersByTimeAsync(2 * REPORT_EVERY_MS);
  expect(saved).toHaveLength(3);
  await reporter.stop();
  await jest.advanceTimersByTimeAsync(2 * REPORT_EVERY_MS);
  expect(saved).toHaveLength(3);
  expect(removed).toEqual([worker.id]);
});

it('goes on when one could not be written, and says that', async () => {
  const { reporter, store, saved, signals } = arrange();
  const { save } = store;
  store.save = async () => Promise.reject(new Error('no luck'));
  reporter.start();
  await jest.advanceTimersByTimeAsync(0);
  expect(signals.named('task.failed')).toMatchObject([{ task: 'report the state of this worker' }]);
  store.save = save;
  await jest.advanceTimersByTimeAsync(REPORT_EVERY_MS);
  expect(saved).toHaveLength(1);
  await reporter.stop();
});

it('ends also while Redis does not answer', async () => {
  const { reporter, store, removed } = arrange();
  store.save = () => new Promise(() => {});
  reporter.start();
  const stopped = reporter.stop();
  await jest.advanceTimersByTimeAsync(2_000);
  await stopped;
  expect(removed).toEqual([]);
});
