// Writes conformance/signatures.json. Run again only to add cases: what is in it is the contract.
import { writeFileSync } from 'node:fs';
import { signService, signStandard } from './sign.mjs';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const other = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
const now = 1_790_000_000;
const text = '{"type":"keyword.quick_win","data":{"keyword":"red shoes","position":11,"volume":2400}}';
const body = (value) => Buffer.from(value).toString('base64');
const id = 'evt_01m7z10j5c4fq3r52bewgh';
const std = ({ key = secret, bytes = text, at = now, eventId = id } = {}) => ({
  'webhook-id': eventId,
  'webhook-timestamp': String(at),
  'webhook-signature': signStandard(key, eventId, at, bytes),
});
const x = (key = secret, bytes = text) => ({ 'x-service-signature': signService(key, bytes) });
const odd = Buffer.from([0xff, 0x00, 0xfe, 0x0a, 0x80]);
const uni = '{"type":"brief.created","data":{"brief_id":"b","title":"Schuhe – 鞋 🥿 \\u2028"}}';
const ok = 'ok';
const cases = [];
const add = (name, expect, c) =>
  cases.push({ name, expect, secrets: [secret], headers: {}, body_base64: body(text), now, ...c });
add('service signature', ok, { headers: x() });
add('standard signature', ok, { headers: std() });
add('both signatures', ok, { headers: { ...x(), ...std() } });
add('header names in any case', ok, {
  headers: {
    'Webhook-Id': id,
    'WEBHOOK-TIMESTAMP': String(now),
    'wEbHoOk-SiGnAtUrE': std()['webhook-signature'],
  },
});
add('text beyond ASCII', ok, {
  headers: { ...x(secret, uni), ...std({ bytes: uni }) },
  body_base64: body(uni),
});
add('bytes that are no UTF-8, service', ok, { headers: x(secret, odd), body_base64: body(odd) });
add('bytes that are no UTF-8, standard', ok, { headers: std({ bytes: odd }), body_base64: body(odd) });
add('an empty body', ok, { headers: std({ bytes: '' }), body_base64: '' });
add('two secrets, signed with the second', ok, { secrets: [other, secret], headers: std() });
add('two signatures, the second good', ok, {
  headers: {
    ...std(),
    'webhook-signature': `${std({ key: other })['webhook-signature']} ${std()['webhook-signature']}`,
  },
});
add('a signature of a scheme that is not known beside a good one', ok, {
  headers: { ...std(), 'webhook-signature': `v1a,AAAA ${std()['webhook-signature']}` },
});
add('as old as the tolerance', ok, { headers: std({ at: now - 300 }) });
add('as far ahead as the tolerance', ok, { headers: std({ at: now + 300 }) });
add('an own tolerance', ok, { headers: std({ at: now - 900 }), tolerance: 900 });
add('too old', 'timestamp_skew', { headers: std({ at: now - 301 }), skew: -301 });
add('too far ahead', 'timestamp_skew', { headers: std({ at: now + 301 }), skew: 301 });
add('too old, although the service signature is good', 'timestamp_skew', {
  headers: { ...x(), ...std({ at: now - 301 }) },
  skew: -301,
});
add('a timestamp that is no number', 'missing_header', {
  headers: { ...std(), 'webhook-timestamp': '12a' },
  header: 'webhook-timestamp',
});
add('one byte of the body changed, service', 'no_match', {
  headers: x(),
  body_base64: body(text.replace('11', '12')),
});
add('one byte of the body changed, standard', 'no_match', {
  headers: std(),
  body_base64: body(text.replace('11', '12')),
});
add('another id', 'no_match', { headers: { ...std(), 'webhook-id': 'evt_other' } });
add('another timestamp', 'no_match', { headers: { ...std(), 'webhook-timestamp': String(now - 1) } });
add('another secret', 'no_match', { secrets: [other], headers: std() });
add('a good standard signature beside a service signature of the other secret, as during a rotation', ok, {
  headers: { ...x(other), ...std() },
});
add('a good service signature beside a bad standard signature', 'no_match', {
  headers: { ...x(), ...std({ key: other }) },
});
add('an empty signature', 'no_match', { headers: { ...std(), 'webhook-signature': '' } });
add('half of a signature', 'no_match', {
  headers: { ...std(), 'webhook-signature': std()['webhook-signature'].slice(0, 20) },
});
add('a service signature without its prefix', 'no_match', {
  headers: { 'x-service-signature': x()['x-service-signature'].slice(7) },
});
add('a service signature in upper case', 'no_match', {
  headers: { 'x-service-signature': x()['x-service-signature'].toUpperCase() },
});
add('no signature at all', 'missing_header', { headers: {}, header: 'webhook-signature' });
add('no id', 'missing_header', { headers: { ...std(), 'webhook-id': undefined }, header: 'webhook-id' });
add('no timestamp', 'missing_header', {
  headers: { ...std(), 'webhook-timestamp': undefined },
  header: 'webhook-timestamp',
});
add('an empty secret', 'missing_secret', { secrets: [''], headers: std() });
add('a secret of a prefix only', 'missing_secret', { secrets: ['whsec_'], headers: std() });
add('a secret of white space', 'missing_secret', { secrets: ['  '], headers: std() });
add('no secret', 'missing_secret', { secrets: [], headers: std() });
add('an empty secret beside a good one', 'missing_secret', { secrets: [secret, ''], headers: std() });
add('an API key in the place of the secret', 'not_a_secret', {
  secrets: ['whk_01m7z10j5c4fq3r5_0000000000000000000000000000000000000000'],
  headers: std(),
});
add('a secret that is not base64', 'not_a_secret', { secrets: ['whsec_***'], headers: std() });
// White space around a secret is ignored, and so is the padding of its base64.
add('white space around the secret', ok, { secrets: [` ${secret}\r\n`], headers: { ...x(), ...std() } });
add('white space around the secret, service', ok, { secrets: [`${secret}\n`], headers: x() });
const padded = 'whsec_AAECAwQFBgcICQoLDA0ODw==';
add('white space in the secret', 'not_a_secret', {
  secrets: [`${secret.slice(0, 20)} ${secret.slice(20)}`],
  headers: std(),
});
add('a secret with its padding', ok, { secrets: [padded], headers: std({ key: padded }) });
add('a secret without its padding', ok, {
  secrets: [padded.slice(0, -2)],
  headers: std({ key: padded }),
});
add('the same header twice, in another case', 'missing_header', {
  headers: { ...std(), 'Webhook-Id': id },
  header: 'webhook-id',
});
add('the signature twice, in another case', 'missing_header', {
  headers: { ...std(), 'Webhook-Signature': std()['webhook-signature'] },
  header: 'webhook-signature',
});
add('the same header twice, joined', 'missing_header', {
  headers: { ...std(), 'webhook-id': `${id}, ${id}` },
  header: 'webhook-id',
});
add('the service signature twice, in another case', 'missing_header', {
  headers: { ...x(), 'X-Service-Signature': x()['x-service-signature'] },
  header: 'x-service-signature',
});
const signed = (bytes) => ({ headers: std({ bytes }), body_base64: body(bytes) });
add('a body that begins with a byte order mark', ok, { ...signed(`\uFEFF${text}`), payload: ok });
for (const constant of ['NaN', 'Infinity', '-Infinity']) {
  const bytes = `{"type":"keyword.quick_win","data":{"volume":${constant}}}`;
  add(`a body with ${constant}`, ok, { ...signed(bytes), payload: 'invalid_payload' });
}
writeFileSync(new URL('signatures.json', import.meta.url), `${JSON.stringify({ cases }, null, 2)}\n`);
