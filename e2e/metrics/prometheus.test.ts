import { until } from '../support/until';
import { prometheusOrSkip } from './provide-prometheus';
import { alertsOf, readPanels, readRules, selectorsOf } from './read-rules';
import { shortenRules } from './shorten-rules';
import { WatchedService } from './watched-service';

const programs = prometheusOrSkip('dashboards and alerts beside a service that runs');
const describeWith = programs ? describe : describe.skip;

// There is no archive here, so nothing to be shown of it.
const OF_THE_ARCHIVE = /archive_backlog|archive_put_aside/;

const rules = readRules();

describeWith('a Prometheus that watches the service', () => {
  let service: WatchedService;
  beforeAll(async () => {
    service = await WatchedService.start(programs?.prometheus ?? '', shortenRules(rules));
    await service.events.add('no such type', {});
  });
  afterAll(() => service?.stop());

  /** Waits until all of these fire, together or one after the other. */
  async function untilFired(...alerts: readonly string[]): Promise<void> {
    const seen = new Set<string>();
    await until(async () => {
      for (const alert of await service.prometheus.firing()) seen.add(alert);
      return alerts.every((alert) => seen.has(alert)) ? true : undefined;
    });
  }

  async function untilSilent(): Promise<void> {
    await until(async () => ((await service.prometheus.firing()).length === 0 ? true : undefined));
  }

  it('has a value for each expression of each dashboard', async () => {
    const panels = readPanels().map(({ name, expr }) => ({ name, expr: withoutVariables(expr) }));
    for (const { expr } of panels.filter(({ expr }) => !OF_THE_ARCHIVE.test(expr))) {
      await until(async () => ((await hasNumber(expr)) ? true : undefined));
    }
    const empty = panels.filter(({ expr }) => OF_THE_ARCHIVE.test(expr));
    expect(await Promise.all(empty.map(({ expr }) => service.prometheus.query(expr)))).toEqual([[], []]);
  });

  it('tells of a worker that is gone, of deliveries that wait, and that they came late', async () => {
    await service.deliveries.pause();
    const pausedAt = Date.now();
    await service.killWorker();
    await untilFired('WebhooksProcessDown', 'WebhooksNoWorker');
    await service.startWorker();
    await untilFired('WebhooksDeliveriesStuck');
    // Those of the moment of the pause are late after ten seconds.
    await until(async () => (Date.now() - pausedAt > 12_000 ? true : undefined));
    await service.deliveries.resume();
    await untilFired('WebhooksDeliveriesLate', 'WebhooksDeliveriesOftenLate');
  });

  it('tells of receivers that fail, of deliveries that are exhausted, and of invalid events', async () => {
    service.answer = 500;
    await service.events.add('no such type either', {});
    await untilFired('WebhooksMostAttemptsFail', 'WebhooksDeliveriesExhausted', 'WebhooksDeadLetters');
    service.answer = 204;
  });

  it('tells that Redis is away, and what that means for publishers', async () => {
    service.redis.freeze();
    await untilFired('WebhooksRedisUnreachable', 'WebhooksApiErrors');
    service.redis.thaw();
  });

  it('finds each series that an alert asks for', async () => {
    const selectors = alertsOf(rules).flatMap(({ expr }) => selectorsOf(expr));
    const asked = selectors.map(({ name, matchers }) => name + matchers);
    for (const selector of asked.filter((each) => !OF_THE_ARCHIVE.test(each))) {
      await until(async () => ((await hasNumber(selector)) ? true : undefined));
    }
  });

  it('is silent again once all is well', async () => {
    await untilSilent();
    expect(await service.prometheus.query('count(ALERTS{alertstate="firing"})')).toEqual([]);
  });

  async function hasNumber(expr: string): Promise<boolean> {
    return (await service.prometheus.query(expr)).some(Number.isFinite);
  }
});

/** As Grafana puts values in the place of variables. */
function withoutVariables(expr: string): string {
  return expr.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '8s');
}
