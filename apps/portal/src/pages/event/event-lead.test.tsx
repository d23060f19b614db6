import { I18nProvider } from '@lingui/react';
import { renderToStaticMarkup } from 'react-dom/server';
import { Router } from 'wouter';
import type { Delivery } from '../../api/delivery-queries';
import { i18n } from '../../language/language';
import { EventSentence } from './event-lead';

const NONE = {
  total: 0,
  pending: 0,
  held: 0,
  delivered: 0,
  exhausted: 0,
  aborted: 0,
  cancelled: 0,
  superseded: 0,
};

function delivery(webhook: string, changes: Partial<Delivery>): Delivery {
  return {
    id: `evt_1.${webhook}`,
    event_id: 'evt_1',
    webhook_id: webhook,
    event_type: 'order.created',
    status: 'delivered',
    attempt_count: 1,
    last_outcome: 'delivered',
    last_response_status: 204,
    next_attempt_at: null,
    hold: null,
    created_at: '2026-11-29T12:00:00.000Z',
    ...changes,
  };
}

const unsent = {
  webhook_id: 'wh_erp',
  webhook_uid: 'erp',
  webhook_url: null,
  delivery_id: null,
  status: null,
  reason: 'filtered',
  detail: 'Its filter does not let the event pass: total ≥ 100, found 5.',
  conditions: [{ path: 'total', operator: 'gte', expected: 100, found: 5, holds: false }],
  changed_since: false,
} as const;

const names = new Map([
  ['wh_shop', 'Shop front'],
  ['wh_crm', 'CRM'],
]);

function say(props: Omit<Parameters<typeof EventSentence>[0], 'names'>): string {
  const html = renderToStaticMarkup(
    <I18nProvider i18n={i18n}>
      <Router ssrPath="/">
        <EventSentence {...props} names={names} />
      </Router>
    </I18nProvider>,
  );
  return html.replace(/<[^>]*>/g, '');
}

it('says to whom it went, who fails, and who does not get it and why', () => {
  const failing = delivery('wh_shop', {
    status: 'pending',
    last_outcome: 'http_5xx',
    last_response_status: 500,
  });
  const counts = { ...NONE, total: 2, delivered: 1, pending: 1 };
  expect(say({ counts, deliveries: [failing, delivery('wh_crm', {})], unsent: [unsent] })).toBe(
    'Delivered to 1 of 2 webhooks; Shop front fails (HTTP 500), and is tried again; not sent to erp: total is 5, asked for: gte 100.',
  );
});

it('says why a delivery waits', () => {
  const held = delivery('wh_crm', {
    status: 'held',
    attempt_count: 0,
    last_outcome: null,
    last_response_status: null,
    hold: { reason: 'breaker_open', until: null, since: null, waits_for: null },
  });
  expect(say({ counts: { ...NONE, total: 1, held: 1 }, deliveries: [held], unsent: [] })).toBe(
    'Not delivered yet; CRM waits: it keeps failing.',
  );
});

it('is short where all is well, and where it went nowhere', () => {
  const counts = { ...NONE, total: 3, delivered: 3 };
  expect(say({ counts, deliveries: [], unsent: [] })).toBe('Delivered to all 3 webhooks.');
  expect(say({ counts: NONE, deliveries: [], unsent: [unsent] })).toBe(
    'Sent to no webhook; not sent to erp: total is 5, asked for: gte 100.',
  );
});

it('names the first few, and counts the rest', () => {
  const all = Array.from({ length: 5 }, (_, i) =>
    delivery(`wh_${i}`, { status: 'exhausted', last_outcome: 'dns_error', last_response_status: null }),
  );
  const text = say({ counts: { ...NONE, total: 9, exhausted: 9 }, deliveries: all, unsent: [] });
  expect(text).toMatch(
    /^Delivered to 0 of 9 webhooks; wh_0 failed, and was given up \(DNS error\); .*; and 6 more below\.$/,
  );
});
