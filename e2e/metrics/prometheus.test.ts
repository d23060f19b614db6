import { until } from '../support/until';
import { prometheusOrSkip } from './provide-prometheus';
import { alertsOf, readPanels, readRules, selectorsOf } from './read-rules';
import { shortenRules } from './shorten-rules';
import { WatchedService } from './watched-service';

const programs = prometheusOrSkip('dashboards and alerts beside a service that runs');
const describeWith = programs ? describe : describe.skip;

// There is no history here, no replica that confirms, no Redis that went back, and no webhook with code, an access token or a verification: nothing is counted of those.
const isUnused = (expr: string) =>
  /history_(backlog|put_aside|read)|intake_(commit|owed)|redis_(replica|confirmation|rolled_back)_|transformation_duration|token_requests|webhooks_verification/.test(
    expr,
  );
// By the objective, and a little more.
const LATE_AFTER_MS = 12_000;
// More than the alerts of a backlog take for usual.
const MANY = 1_100;
const LONG_AGO_MS = 400_000;

const rules = readRules();

describeWith('a Prometheus that watches the service', () => {
  let service: WatchedService;
  beforeAll(async () => {
    service = await WatchedService.start(programs?.prometheus ?? '', shortenRules(rules));
    await service.events.add('no such type', {});
  });
  afterAll(() => service?.stop());

  /** Waits until all of these have fired, together or one after the other. */
  async function firedOf(alerts: readonly string[]): Promise<readonly string[]> {
    const seen = new Set<string>();
    return await until(async () => {
      for (const alert of await service.prometheus.firing()) seen.add(alert);
      return alerts.every((alert) => seen.has(alert)) ? alerts.filter((alert) => seen.has(alert)) : undefined;
    });
  }

  it('has a value for each expression of each dashboard', async () => {
    const exprs = readPanels().map(({ expr }) => withoutVariables(expr));
    const [empty, shown] = [exprs.filter(isUnused), exprs.filter((expr) => !isUnused(expr))];
    expect(await withNumbers(shown)).toEqual(shown);
    expect(await Promise.all(empty.map((expr) => service.prometheus.query(expr)))).toEqual(
      empty.map(() => []),
    );
  });

  it('tells of a worker that is gone, of deliveries that wait, and that they came late', async () => {
    await service.deliveries.pause();
    const pausedAt = Date.now();
    await service.killWorker();
    const gone = ['WebhooksProcessDown', 'WebhooksNoWorker'];
    expect(await firedOf(gone)).toEqual(gone);
    await service.startWorker();
    const paused = ['WebhooksQueuePaused', 'WebhooksDeliveriesStuck'];
    expect(await firedOf(paused)).toEqual(paused);
    await until(async () => (Date.now() - pausedAt > LATE_AFTER_MS ? true : undefined));
    await service.deliveries.resume();
    const late = ['WebhooksDeliveriesLate', 'WebhooksDeliveriesOftenLate'];
    expect(await firedOf(late)).toEqual(late);
  });

  it('tells of receivers that fail, of deliveries that are exhausted, and of invalid events', async () => {
    service.response = 500;
    await service.events.add('no such type either', {});
    const failures = ['WebhooksMostAttemptsFail', 'WebhooksDeliveriesExhausted', 'WebhooksDeadLetters'];
    expect(await firedOf(failures)).toEqual(failures);
    service.response = 204;
  });

  it('tells that Redis is away, and what that means for publishers', async () => {
    service.redis.freeze();
    const away = ['WebhooksRedisUnreachable', 'WebhooksApiErrors'];
    expect(await firedOf(away)).toEqual(away);
    service.redis.thaw();
  });

  it('tells of a backlog that grows, and of jobs that have waited for long', async () => {
    await service.events.pause();
    await service.pushOld(MANY, LONG_AGO_MS);
    const waiting = ['WebhooksBacklogGrows', 'WebhooksWaitingTooLong'];
    expect(await firedOf(waiting)).toEqual(waiting);
    await service.events.resume();
  });

  it('tells of jobs that are of a later version, and of those that failed for good', async () => {
    await service.killWorker();
    const failed = await service.failJob();
    const newer = await service.makeJobTooNew();
    await service.startWorker();
    const alerts = ['WebhooksJobsTooNew', 'WebhooksJobsFailed'];
    expect(await firedOf(alerts)).toEqual(alerts);
    await Promise.all([newer.stop(), failed.stop()]);
  });

  it('tells of a Redis that is nearly full', async () => {
    await service.fillRedis(0.8);
    expect(await firedOf(['WebhooksRedisMemoryNearlyFull'])).toEqual(['WebhooksRedisMemoryNearlyFull']);
    await service.setRedis('maxmemory', '1gb');
  });

  it('tells of a Redis that refuses to write', async () => {
    await service.setRedis('maxmemory', '1');
    expect(await firedOf(['WebhooksRedisRefusesWrites'])).toEqual(['WebhooksRedisRefusesWrites']);
    await service.setRedis('maxmemory', '1gb');
  });

  it('tells of a Redis that throws data away, of one that is slow, and of a process that is', async () => {
    await service.setRedis('maxmemory-policy', 'allkeys-lru');
    expect(await firedOf(['WebhooksRedisEvicts'])).toEqual(['WebhooksRedisEvicts']);
    await service.setRedis('maxmemory-policy', 'noeviction');
    const [slowRedis, slowWorker] = [service.slowDownRedis(), service.slowDownWorker()];
    const slow = ['WebhooksRedisSlow', 'WebhooksEventLoopBlocked'];
    expect(await firedOf(slow)).toEqual(slow);
    await Promise.all([slowRedis.stop(), slowWorker.stop()]);
  });

  it('finds each series that an alert asks for', async () => {
    const selectors = alertsOf(rules).flatMap(({ expr }) => selectorsOf(expr));
    const asked = selectors.map(({ name, matchers }) => name + matchers).filter((each) => !isUnused(each));
    expect(await withNumbers(asked)).toEqual(asked);
  });

  it('is silent again once all is well', async () => {
    await until(async () => ((await service.prometheus.firing()).length === 0 ? true : undefined));
    expect(await service.prometheus.query('count(ALERTS{alertstate="firing"})')).toEqual([]);
  });

  /** Those of the expressions that have values, in the end. */
  async function withNumbers(exprs: readonly string[]): Promise<readonly string[]> {
    for (const expr of exprs) await until(async () => ((await hasNumber(expr)) ? true : undefined));
    return exprs;
  }

  async function hasNumber(expr: string): Promise<boolean> {
    return (await service.prometheus.query(expr)).some(Number.isFinite);
  }
});

/** As Grafana puts values in the place of variables. */
function withoutVariables(expr: string): string {
  return expr.replaceAll(/\$(?:release|instance)/g, '.*').replaceAll('$__rate_interval', '8s');
}
