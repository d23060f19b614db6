import { renderToStaticMarkup } from 'react-dom/server';
import type { ListedWebhook } from '../../api/webhook-queries';
import { webhookColumns } from './webhook-columns';

it('calls a webhook by its description, else by its own name, with the next of them beside it', () => {
  const [name] = webhookColumns;
  const shown = (webhook: Partial<ListedWebhook>) => {
    const all = { id: 'wh_1', url: 'https://a.example/', description: null, uid: null, ...webhook };
    return renderToStaticMarkup(name?.cell(all as ListedWebhook))
      .split(/<[^>]+>/)
      .filter(Boolean);
  };
  expect(shown({})).toEqual(['a.example']);
  expect(shown({ uid: 'crm' })).toEqual(['crm', 'a.example']);
  expect(shown({ description: 'Shop front' })).toEqual(['Shop front', 'a.example']);
  expect(shown({ uid: 'crm', description: 'Shop front' })).toEqual(['Shop front', 'crm']);
});
