import { renderToStaticMarkup } from 'react-dom/server';
import { Router } from 'wouter';
import { type ListedWebhook, webhookColumns } from './webhook-columns';

it('shows the own name of a webhook beside its URL or description', () => {
  const [name] = webhookColumns;
  const shown = (webhook: Partial<ListedWebhook>) => {
    const all = { id: 'wh_1', url: 'https://a.example/', description: null, uid: null, ...webhook };
    return renderToStaticMarkup(<Router ssrPath="/">{name?.cell(all as ListedWebhook)}</Router>).replaceAll(
      /<[^>]+>/g,
      ' ',
    );
  };
  expect(shown({ uid: 'crm' })).toMatch(/https:\/\/a\.example\/.*crm/);
  expect(shown({ uid: 'crm', description: 'Shop front' })).toMatch(/Shop front.*crm/);
});
