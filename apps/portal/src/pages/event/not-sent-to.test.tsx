import { renderToStaticMarkup } from 'react-dom/server';
import { Router } from 'wouter';
import { formatTime } from '../../language/formats';
import { Unsent } from './not-sent-to';

const filtered = {
  webhook_id: 'wh_0n5x3gq9k2v7r1m8c4d6ta',
  webhook_uid: null,
  webhook_url: 'https://receiver.example.com/hooks',
  delivery_id: null,
  status: null,
  reason: 'filtered',
  detail: 'Its filter does not let the event pass: total ≥ 100, found 5.',
  conditions: [{ path: 'total', operator: 'gte', expected: 100, found: 5, holds: false }],
  changed_since: false,
} as const;

const accounting = {
  id: filtered.webhook_id,
  uid: null,
  url: 'https://receiver.example.com/hooks',
  description: 'Accounting',
  events: ['*'],
  created_at: '2026-11-30T22:30:20.126Z',
};

function say(
  changes: Partial<Parameters<typeof Unsent>[0]['rows'][number]>,
  webhooks: Parameters<typeof Unsent>[0]['webhooks'] = [accounting],
): string {
  return renderToStaticMarkup(
    <Router ssrPath="/">
      <Unsent rows={[{ ...filtered, ...changes }]} webhooks={webhooks} />
    </Router>,
  );
}

it('names each webhook that an event did not go to, with the reason', () => {
  const page = say({}, []);
  expect(page).toContain('>https://receiver.example.com/hooks</bdi></a>');
  expect(page).toContain('Its filter does not let the event pass: total is 5, asked for: gte 100.');
  expect(say({})).toContain('>Accounting</bdi></a>');
});

it('says that a condition within $not left an event out', () => {
  const [condition] = filtered.conditions;
  const conditions = [{ ...condition, operator: 'lt', holds: true }];
  expect(say({ conditions })).toContain('total is 5, asked for: $not lt 100.');
});

it('says without the settings of a webhook that its filter left an event out', () => {
  expect(say({ conditions: [] })).toContain('>Its filter does not let the event pass.</span>');
});

it('says when a webhook was registered, if that was after the event', () => {
  const at = formatTime(new Date(accounting.created_at));
  expect(say({ reason: 'registered_later' })).toContain(`after the event, at ${at}. A replay`);
  expect(say({ reason: 'registered_later' }, [])).toContain('after the event. A replay');
});

it('tells a webhook of all events that those about webhooks are not among them', () => {
  expect(say({ reason: 'not_subscribed' })).toContain('not among “every event”');
  expect(say({ reason: 'not_subscribed' }, [{ ...accounting, events: ['order.*'] }])).toContain(
    'It does not subscribe to this type.',
  );
});

it('says of settings that were changed since that they may have been different', () => {
  const changed = { changed_since: true };
  expect(say(changed)).toContain('gte 100. That is by its settings of now');
  expect(say({ ...changed, reason: 'not_addressed' })).not.toContain('settings of now');
});
