import { I18nProvider } from '@lingui/react';
import { renderToStaticMarkup } from 'react-dom/server';
import { i18n } from '../../language/language';
import { Warnings } from './warnings';

it('shows each warning of a webhook that was saved, and nothing without one', () => {
  const detail = '"totl" is not in the schema of order.created; did you mean "total"?';
  const warning = { code: 'never_matches', pointer: '/filter/totl', detail } as const;
  const page = renderToStaticMarkup(
    <I18nProvider i18n={i18n}>
      <Warnings warnings={[warning]} />
    </I18nProvider>,
  );
  expect(page).toContain('did you mean &quot;total&quot;?</li>');
  expect(renderToStaticMarkup(<Warnings warnings={[]} />)).toBe('');
});
