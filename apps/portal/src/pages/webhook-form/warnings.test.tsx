import { renderToStaticMarkup } from 'react-dom/server';
import { Warnings } from './warnings';

it('shows each warning of a webhook that was saved, and nothing without one', () => {
  const detail = '"totl" is not in the schema of order.created; did you mean "total"?';
  const warning = { code: 'never_matches', pointer: '/filter/totl', detail } as const;
  const page = renderToStaticMarkup(<Warnings warnings={[warning]} />);
  expect(page).toContain('did you mean &quot;total&quot;?</li>');
  expect(renderToStaticMarkup(<Warnings warnings={[]} />)).toBe('');
});
