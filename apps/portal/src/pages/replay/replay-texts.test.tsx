import { I18nProvider } from '@lingui/react';
import { renderToStaticMarkup } from 'react-dom/server';
import { Router } from 'wouter';
import type { ReplayWithResults } from '../../api/replay-queries';
import { i18n } from '../../language/language';
import { progressText, ReplayResults, toneOf } from './replay-texts';

const results = { counted: 391, delivered: 380, pending: 8, failed: 3, cancelled: 0 };

const replay: ReplayWithResults = {
  id: 'rpl_1',
  webhook_id: 'wh_1',
  status: 'done',
  mode: 'failed',
  since: '2026-11-28T00:00:00.000Z',
  until: '2026-11-29T00:00:00.000Z',
  rate: 50,
  dry_run: false,
  found: 391,
  enqueued: 391,
  erased: 0,
  error: null,
  created_at: '2026-11-29T00:00:00.000Z',
  ended_at: '2026-11-29T00:01:00.000Z',
  results,
};

it.each([
  [{ status: 'counting', found: 120 }, 'Counting: 120 events so far.'],
  [{ status: 'running', enqueued: 100 }, '100 of 391 events put onto the queue so far.'],
  [{}, '391 of 391 events put onto the queue.'],
  [{ status: 'cancelled', enqueued: 1, found: 1 }, 'Cancelled: 1 of 1 event put onto the queue.'],
  [{ status: 'cancelled', enqueued: 0 }, 'Cancelled before it sent anything.'],
  [{ dry_run: true, enqueued: 0 }, 'It counted 391 events, and sent none.'],
  [{ mode: 'all', found: 0, enqueued: 0 }, 'No event matched: nothing was sent.'],
  [
    { found: 0, enqueued: 0 },
    'No delivery was given up or cancelled in this time: nothing was sent. Those that wait for a retry are another choice.',
  ],
] as const)('says how far it is: %j', (changes, text) => {
  expect(progressText({ ...replay, ...changes })).toBe(text);
});

it('says how many arrived, failed, and are under way, and of how many that is', () => {
  const shown = (counted: typeof results, enqueued: number) =>
    renderToStaticMarkup(
      <I18nProvider i18n={i18n}>
        <Router ssrPath="/">
          <ReplayResults replay={{ id: 'rpl_1', enqueued }} results={counted} />
        </Router>
      </I18nProvider>,
    ).replaceAll(/<[^>]+>/g, '');
  expect(shown(results, 391)).toBe('380 arrived, 3 failed, 8 under way or held.');
  expect(shown({ ...results, delivered: 391, pending: 0, failed: 0 }, 391)).toBe('391 arrived.');
  expect(shown(results, 5_000)).toBe('Of the newest 391: 380 arrived, 3 failed, 8 under way or held.');
});

it('is good only once all arrived', () => {
  expect(toneOf(replay)).toBe('bad');
  expect(toneOf({ ...replay, results: { ...results, failed: 0 } })).toBe('busy');
  expect(toneOf({ ...replay, results: { ...results, failed: 0, pending: 0 } })).toBe('good');
});
