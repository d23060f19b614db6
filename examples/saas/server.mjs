// A small product with tenants. Each gets webhooks for its own orders, and manages them on the settings page.
//
//   HOOKFERRY_URL=http://127.0.0.1:3000 npm start
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createClient } from '@hookferry/client';
import express from 'express';
import { Outbox } from './outbox.mjs';
import { ordersPage, settingsPage, webhooksPage, welcomePage } from './pages.mjs';
import { Store } from './store.mjs';

const { HOOKFERRY_URL, HOOKFERRY_API_KEY, PORT = '4100' } = process.env;
if (!HOOKFERRY_URL) {
  console.error('Set HOOKFERRY_URL: `npm start` of Hookferry keeps it in .data/env.');
  process.exit(2);
}
// Where browsers reach it.
const { HOOKFERRY_PUBLIC_URL = HOOKFERRY_URL } = process.env;
const COOKIE = 'login';

const store = new Store('shop.sqlite');
const client = createClient({
  baseUrl: HOOKFERRY_URL,
  apiKey: HOOKFERRY_API_KEY ?? readFileSync('backend-key', 'utf8').trim(),
});
const outbox = new Outbox({ store, client });

const app = express();
app.use(express.static('public'));
// The Web Component is a module that browsers load as it is.
app.use('/hookferry-portal', express.static('node_modules/@hookferry/portal/dist'));
app.use(express.urlencoded({ extended: false }));
app.use((request, _response, next) => {
  const [, token = ''] = new RegExp(`(?:^|; )${COOKIE}=([\\w-]+)`).exec(request.headers.cookie ?? '') ?? [];
  request.login = token;
  request.tenant = store.tenantOf(token);
  next();
});

app.get('/', (request, response) => {
  if (request.tenant) response.redirect('/orders');
  else response.send(welcomePage());
});
app.post('/sign-up', (request, response) => enter(request, response, 'signUp', 'This name is taken.'));
app.post('/log-in', (request, response) => enter(request, response, 'logIn', 'Wrong name or password.'));

app.use((request, response, next) => {
  if (request.tenant) next();
  else if (request.method === 'GET') response.redirect('/');
  else response.sendStatus(401);
});

app.post('/log-out', (request, response) => {
  store.logOut(request.login);
  response.clearCookie(COOKIE).redirect('/');
});

app.get('/orders', ({ tenant }, response) => {
  response.send(ordersPage(tenant, store.ordersOf(tenant.id)));
});
app.post('/orders', ({ tenant, body }, response) => {
  const total = Number(body?.total);
  if (!body?.total || !(total >= 0)) return void response.status(422).send('The total must be 0 or more.');
  store.createOrder(tenant.id, total);
  outbox.wake();
  response.redirect('/orders');
});
app.post('/orders/:id/pay', ({ tenant, params }, response) => {
  store.payOrder(tenant.id, params.id);
  outbox.wake();
  response.redirect('/orders');
});

app.get('/settings', ({ tenant }, response) => {
  response.send(settingsPage(tenant, HOOKFERRY_PUBLIC_URL));
});
app.get('/webhooks', ({ tenant }, response) => {
  response.send(webhooksPage(tenant, HOOKFERRY_PUBLIC_URL));
});
// The account is the one of who is logged in, and never one that the page names.
app.post('/portal-link', async ({ tenant }, response) => {
  await outbox.ensureAccount(tenant);
  const { url } = await client.POST('/v1/portal-sessions', {
    body: { label: tenant.name, capabilities: ['read', 'webhooks', 'redeliver'] },
    headers: { 'X-Account-Id': tenant.id },
  });
  response.set('cache-control', 'no-store').json({ url });
});

// The account at Hookferry is deleted by `npm run erase`: this process has no key that could.
app.post('/leave', ({ tenant }, response) => {
  store.leave(tenant.id);
  response.clearCookie(COOKIE).redirect('/');
});

function enter({ body }, response, how, problem) {
  const { name = '', password = '' } = body ?? {};
  const isUsable = name.length > 0 && name.length <= 100 && password.length >= 8 && password.length <= 200;
  const token = isUsable ? store[how](name, password) : undefined;
  if (token === undefined) return void response.status(422).send(welcomePage(problem));
  // Behind TLS: `secure: true`. `lax` keeps other sites from posting in the name of a tenant.
  response.cookie(COOKIE, token, { httpOnly: true, sameSite: 'lax' }).redirect('/orders');
}

const server = app.listen(Number(PORT), '127.0.0.1');
await once(server, 'listening');
console.log(`The shop is at http://127.0.0.1:${server.address().port}`);
outbox.wake();

process.once('SIGTERM', stop);
process.once('SIGINT', stop);

function stop() {
  server.close();
  server.closeAllConnections();
  void outbox.stop().then(() => store.close());
}
