import { renderToStaticMarkup } from 'react-dom/server';
import { Router } from 'wouter';
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
  expect(page).toContain('>https://receiver.example.com/hooks</a>');
  expect(page).toContain('href="/webhooks/wh_named"');
  expect(page).toContain('>Accounting</a>');
  expect(page).toContain('total ≥ 100, found 5.');
});
