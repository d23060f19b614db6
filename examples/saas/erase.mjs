// Erases the accounts of tenants who have left, with an operator's key. It may run as often as you like, by cron too.
//
//   HOOKFERRY_URL=http://127.0.0.1:3000 OPERATOR_KEY=whk_… npm run erase
import { createClient, WebhooksApiError } from '@hookferry/client';
import { Store } from './store.mjs';

const { HOOKFERRY_URL, OPERATOR_KEY } = process.env;
if (!HOOKFERRY_URL || !OPERATOR_KEY) {
  console.error('Set HOOKFERRY_URL and OPERATOR_KEY: `npm start` of Hookferry keeps both in .data/env.');
  process.exit(2);
}
const client = createClient({ baseUrl: HOOKFERRY_URL, apiKey: OPERATOR_KEY });
const store = new Store('shop.sqlite');

for (const { id, name } of store.leaving()) {
  try {
    await client.DELETE('/v1/accounts/{id}', { params: { path: { id } } });
  } catch (error) {
    // It never had an account, or was erased by a run that ended before it could write that down.
    if (!(error instanceof WebhooksApiError && error.code === 'not_found')) throw error;
  }
  store.forget(id);
  console.log(`${name} is erased.`);
}
store.close();
