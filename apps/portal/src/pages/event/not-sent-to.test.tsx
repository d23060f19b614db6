import { renderToStaticMarkup } from 'react-dom/server';
import { Router } from 'wouter';
import { formatTime } from '../../language/formats';
import { Unsent } from './not-sent-to';

const explanation = {
  webhook_id: 'wh_0n5x3gq9k2v7r1m8c4d6ta',
  webhook_uid: null,
  webhook_url: 'https://receiver.example.com/hooks',
  delivery_id: null,
  status: null,
  reason: 'filtered',
  detail: 'Its filter does not let the event pass: total ≥ 100, found 5.',
  conditions: [],
  changed_since: false,
} as const;

it('names each webhook that an event did not go to, with the reason', () => {
  const page = renderToStaticMarkup(
    <Router ssrPath="/">
      <Unsent
        rows={[explanation, { ...explanation, webhook_id: 'wh_named' }]}
        names={new Map([['wh_named', 'Accounting']])}
      />
    </Router>,
  );
  expect(page).toContain('>https://receiver.example.com/hooks</bdi></a>');
  expect(page).toContain('href="/webhooks/wh_named"');
  expect(page).toContain('>Accounting</bdi></a>');
  expect(page).toContain('total ≥ 100, found 5.');
});

it('shows a time of the reason as all others on the page', () => {
  const detail =
    'The webhook was registered later, at 2026-11-30T22:30:20.126Z. A replay sends it the event.';
  const page = renderToStaticMarkup(
    <Router ssrPath="/">
      <Unsent rows={[{ ...explanation, detail }]} names={new Map()} />
    </Router>,
  );
  expect(page).toContain(`later, at ${formatTime(new Date('2026-11-30T22:30:20.126Z'))}. A replay`);
});
