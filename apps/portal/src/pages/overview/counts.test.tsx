import { I18nProvider } from '@lingui/react';
import type { ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { Router } from 'wouter';
import type { DeliveryMetrics, Standing } from '../../api/metrics-queries';
import { i18n } from '../../language/language';
import { Headline } from './headline';
import { Tiles } from './tiles';

const NOW = Date.parse('2026-11-26T12:00:00Z');

const textOf = (element: ReactNode) =>
  renderToStaticMarkup(
    <I18nProvider i18n={i18n}>
      <Router ssrPath="/">{element}</Router>
    </I18nProvider>,
  ).replaceAll(/<[^>]+>/g, '|');

const webhooks = (count: number, of: object, health: object = {}) =>
  Array.from({ length: count }, (_, i) => ({
    id: `wh_${i}`,
    url: 'https://shop.example/',
    description: null,
    status: 'enabled',
    disabled_reason: null,
    isFailing: false,
    health: { held: 0, disables_at: null, ...health },
    ...of,
  })) as unknown as readonly Standing[];

const headline = (all: readonly Standing[]) =>
  textOf(<Headline standings={{ webhooks: all, isPart: false }} now={NOW} />);

it.each([
  [0, '✓ Everything is delivered'],
  [1, 'shop.example fails'],
  [2, '2 webhooks fail'],
  [1_000, '1,000 webhooks fail'],
])('says that %d webhooks fail', (count, text) => {
  expect(headline([...webhooks(1, {}), ...webhooks(count, { isFailing: true })])).toContain(`|${text}|`);
});

it.each([
  [1, 'shop.example was disabled'],
  [2, '2 webhooks were disabled'],
])('says that %d were disabled', (count, text) => {
  expect(headline(webhooks(count, { isFailing: true, status: 'disabled' }))).toContain(`|${text}|`);
});

it.each([
  [1, '1 delivery held'],
  [2, '2 deliveries held'],
  [1_000, '1,000 deliveries held'],
])('says that %d deliveries are held', (held, text) => {
  expect(headline(webhooks(1, {}, { held }))).toContain(`|${text}|`);
});

it.each([
  [0, '|0 of them retries|', '|none failed|'],
  [1, '|1 of them a retry|', '|1 failed|'],
  [2, '|2 of them retries|', '|2 failed|'],
  [1_000, '|1,000 of them retries|', '|1,000 failed|'],
])('counts %d retries and failures in tiles', (count, retries, failures) => {
  const [since, until] = ['2026-11-26T10:00:00.000Z', '2026-11-26T12:00:00.000Z'];
  const point = { attempts: 2_000, delivered: 1_000, failed: count, retried: count, exhausted: 0 };
  const data = [{ starts_at: since, group: {}, ...point }];
  const total = { data, interval: 'total', since, until, source: 'recent' } as unknown as DeliveryMetrics;
  const text = textOf(<Tiles total={total} before={undefined} events={undefined} filters={{}} isOpen />);
  expect(text).toContain(retries);
  expect(text).toContain(failures);
});
