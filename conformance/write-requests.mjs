// Writes conformance/requests.json: what a delivery is, byte for byte. Run again only to add cases: what is in it is the
// contract.
import { writeFileSync } from 'node:fs';
import { signService, signStandard } from './sign.mjs';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OTHER = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
const THIRD = 'whsec_pnEmfhEXzeuwd/jzVD8ILPZIo2LaLaSwHfIO5KOKWTs=';
const NOW = 1_790_000_000;
const SETTINGS = {
  user_agent: 'Hookferry/0.1.0',
  signature_header: 'X-Service-Signature',
  signature_prefix: 'sha256=',
};
const QUICK_WIN = {
  id: 'evt_01m7z10j5c4fq3r52bewgh',
  type: 'keyword.quick_win',
  data_text: '{"keyword":"red shoes","position":11,"volume":2400}',
};
// Of a type whose data may be anything.
const anything = (data_text) => ({ ...QUICK_WIN, type: 'invoice.paid', data_text });

const cases = [];

/** @param given what differs from the first case. Secrets are newest first; times are in seconds. */
function add(name, given = {}) {
  const whole = {
    settings: { ...SETTINGS, ...given.settings },
    webhook: { url: 'https://receiver.example.com/hooks', secrets: [{ secret: SECRET }], ...given.webhook },
    event: { ...QUICK_WIN, ...given.event },
    attempt: given.attempt ?? 1,
    is_test: given.is_test ?? false,
    now: given.now ?? NOW,
  };
  cases.push({ name, ...whole, request: requestOf(whole) });
}

function requestOf({ settings, webhook, event, attempt, is_test, now }) {
  const body = `{"type":${JSON.stringify(event.type)},"data":${event.data_text}}`;
  const live = webhook.secrets.filter(({ expires_at = Number.POSITIVE_INFINITY }) => expires_at > now);
  const signatures = live.map(({ secret }) => signStandard(secret, event.id, now, body));
  const { pathname, search } = new URL(webhook.url);
  return {
    method: 'POST',
    path: pathname + search,
    headers: {
      ...webhook.headers,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      'user-agent': settings.user_agent,
      [settings.signature_header.toLowerCase()]: signService(
        webhook.secrets[0].secret,
        body,
        settings.signature_prefix,
      ),
      'webhook-id': event.id,
      'webhook-timestamp': String(now),
      'webhook-signature': signatures.join(' '),
      'x-service-attempt': String(attempt),
      ...(is_test ? { 'x-service-test': 'true' } : {}),
    },
    body_base64: Buffer.from(body).toString('base64'),
  };
}

add('a first attempt');
add('the seventh attempt, an hour later', { attempt: 7, now: NOW + 3_600 });
add('a test', { is_test: true });
add('an id that its publisher chose, as long as can be', { event: { id: `order-${'7'.repeat(122)}` } });
add('text beyond ASCII', {
  event: {
    type: 'brief.created',
    data_text: '{"brief_id":"b","title":"Schuhe – 鞋 🥿 \u2028","keyword":"größe"}',
  },
});
add('escapes stay escapes', {
  event: { type: 'brief.created', data_text: '{"brief_id":"\\u0062","title":"a\\/b\\u00e9\\ud83d\\ude80"}' },
});
add('white space, numbers and members stay as they were written', {
  event: anything('{ "amount" : 10.00,\n\t"rate":1e-2, "n":9007199254740993, "a":1, "a":2 }'),
});
add('no data but null', { event: anything('null') });
add('data that are a text', { event: anything('"paid"') });
add('data that are a list of nothing', { event: anything('[]') });
add('a member __proto__ is data', { event: anything('{"__proto__":{"a":1}}') });
add('a URL without a path', { webhook: { url: 'https://receiver.example.com/' } });
add('a URL with a query', { webhook: { url: 'https://receiver.example.com/a%20b/%C3%A9?x=1&y=%26' } });
add('headers of its own', {
  webhook: { headers: { authorization: 'Basic dXNlcjpwYXNz', 'x-tenant': 'acme, inc' } },
});
add('two secrets, as during a rotation', {
  webhook: { secrets: [{ secret: OTHER }, { secret: SECRET, expires_at: NOW + 60 }] },
});
add('a secret that signs no more', {
  webhook: { secrets: [{ secret: OTHER }, { secret: SECRET, expires_at: NOW }] },
});
add('three secrets, of two lengths, the second at its end', {
  webhook: {
    secrets: [
      { secret: THIRD },
      { secret: OTHER, expires_at: NOW - 1 },
      { secret: SECRET, expires_at: NOW + 1 },
    ],
  },
});
add("an operator's own header, without a prefix", {
  settings: { signature_header: 'X-Acme-Signature', signature_prefix: '' },
});
add("an operator's own prefix and user agent", {
  settings: { signature_prefix: 'hmac ', user_agent: 'acme-hooks/2' },
});

writeFileSync(new URL('requests.json', import.meta.url), `${JSON.stringify({ cases }, null, 2)}\n`);
