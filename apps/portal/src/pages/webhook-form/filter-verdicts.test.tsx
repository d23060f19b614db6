import { i18n } from '@lingui/core';
import { I18nProvider } from '@lingui/react';
import { renderToStaticMarkup } from 'react-dom/server';
import { FilterVerdicts } from './filter-verdicts';

i18n.loadAndActivate({ locale: 'en', messages: {} });

const condition = { path: 'total', operator: 'gt', expected: 100, found: 205 };
const result = {
  event_id: null,
  event_type: 'order.paid',
  created_at: null,
  matches: false,
  because: [],
  left_out_by: [],
};

const say = (changes: Partial<Parameters<typeof FilterVerdicts>[0]['tried']['results'][number]>) =>
  renderToStaticMarkup(
    <I18nProvider i18n={i18n}>
      <FilterVerdicts tried={{ tried: 1, matched: 0, results: [{ ...result, ...changes }] }} />
    </I18nProvider>,
  );

it('gives the conditions that left an event out, those within $not too', () => {
  const inNot = { ...condition, holds: true };
  const other = { ...condition, path: 'country', holds: false };
  const page = say({ because: [inNot, other], left_out_by: [inNot] });
  expect(page).toContain('total is 205, asked for: $not gt 100</p>');
  expect(page).not.toContain('country');
});

it('gives no reason for an event that passes', () => {
  expect(say({ matches: true, because: [{ ...condition, holds: true }] })).not.toContain('asked for');
});
