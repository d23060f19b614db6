import { startApp } from './app.js';
import { handlers, otherwise } from './handlers.js';

const { WEBHOOK_SECRET: secret, PORT: port = '4000' } = process.env;
if (!secret) {
  console.error(
    'WEBHOOK_SECRET is not set. It is in the response to the registration of the webhook: whsec_…',
  );
  process.exit(1);
}
const { url } = await startApp({ secret, port: Number(port), on: handlers, otherwise });
console.log(`Listening on ${url}/webhooks`);
