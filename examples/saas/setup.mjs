// Run it once, and again when the product has more types: describes those that are not there yet, and issues the narrow key of the
// backend. A type that is there stays as it is: other programs may publish it.
//
//   HOOKFERRY_URL=http://127.0.0.1:3000 OPERATOR_KEY=whk_… npm run setup
import { existsSync, writeFileSync } from 'node:fs';
import { createClient } from '@hookferry/client';

const { HOOKFERRY_URL, OPERATOR_KEY } = process.env;
if (!HOOKFERRY_URL || !OPERATOR_KEY) {
  console.error('Set HOOKFERRY_URL and OPERATOR_KEY: `npm start` of Hookferry keeps both in .data/env.');
  process.exit(2);
}
const client = createClient({ baseUrl: HOOKFERRY_URL, apiKey: OPERATOR_KEY });

const schema = {
  type: 'object',
  properties: { id: { type: 'string' }, total: { type: 'number' } },
  required: ['id'],
};
const TYPES = { 'order.created': 'An order was placed.', 'order.paid': 'An order was paid.' };

async function setUp() {
  const { data } = await client.GET('/v1/event-types');
  for (const [name, description] of Object.entries(TYPES)) {
    if (data.some((type) => type.name === name)) {
      console.log(`${name} is there already, and is kept: what the shop publishes has to match its schema.`);
      continue;
    }
    await client.PUT('/v1/event-types/{name}', {
      params: { path: { name } },
      body: { description, schema, example: { id: 'ord_1', total: 99.5 } },
    });
    console.log(`${name} is an event type.`);
  }

  if (existsSync('backend-key')) {
    console.log('The key in backend-key is kept.');
  } else {
    const { key } = await client.POST('/v1/api-keys', {
      body: {
        name: 'shop backend',
        // Makes accounts and acts for them, within the scopes beside it. It can't delete accounts or issue keys.
        scopes: ['accounts:act', 'events:write', 'webhooks:read', 'webhooks:write', 'portal:write'],
        event_types: ['order.*'],
      },
    });
    writeFileSync('backend-key', `${key}\n`, { mode: 0o600 });
    console.log('The key of the backend is in backend-key.');
  }
}

// What went wrong is said by its message: mostly that the key is not one of this service.
setUp().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
