import { renderToStaticMarkup } from 'react-dom/server';
import { Router } from 'wouter';
import { type ListedWebhook, webhookColumns } from './webhook-columns';

it('calls a webhook by its description, else by its own name, with the next of them beside it', () => {
  const [name] = webhookColumns;
  const shown = (webhook: Partial<ListedWebhook>) => {
    const all = { id: 'wh_1', url: 'https://a.example/', description: null, uid: null, ...webhook };
    return renderToStaticMarkup(<Router ssrPath="/">{name?.cell(all as ListedWebhook)}</Router>).replaceAll(
      /<[^>]+>/g,
      ' ',
    );
  };
  expect(shown({})).toMatch(/^ https:\/\/a\.example\/ $/);
  expect(shown({ uid: 'crm' })).toMatch(/crm.*https:\/\/a\.example\//);
  expect(shown({ description: 'Shop front' })).toMatch(/Shop front.*https:\/\/a\.example\//);
  expect(shown({ uid: 'crm', description: 'Shop front' })).toMatch(/Shop front.*crm/);
});
