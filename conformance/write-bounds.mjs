// Writes conformance/bounds.json: how much of what the API takes, and where it refuses what is beyond. Run again only to add
// cases: what is in it is the contract.
//
// In a body, {"$repeat": [PREFIX, TEXT, TIMES]} stands for a prefix and the text so many times over, {"$list": [VALUE, TIMES]}
// for a list of so many, {"$nest": TIMES} for lists in lists, so many levels deep. {webhook} in a path stands for the id of a
// webhook that there is. Bounds of plain settings come from their table: compile first (`npm run build`).
import { writeFileSync } from 'node:fs';
import { endpointSettings } from '../packages/core/dist/domain/endpoint-settings.js';

const repeat = (text, times, prefix = '') => ({ $repeat: [prefix, text, times] });
const listOf = (count, value) => ({ $list: [value, count] });
const many = (count, make) => Array.from({ length: count }, (_, index) => make(index));
const members = (count, value = 'v') => Object.fromEntries(many(count, (index) => [`n${index}`, value]));
const SITE = 'https://receiver.example.com/';
const key = (bytes) => `whsec_${Buffer.alloc(bytes, 'k').toString('base64')}`;

const cases = [];
const add = (what, request, expected) => cases.push({ what, request, expected });

const post = (path, body, headers) => ({ method: 'POST', path, ...(headers ? { headers } : {}), body });

/** How the API responds to what is one step beyond: pointers into the body, or the names of a parameter or a header. */
const refused = (...pointers) => ({ status: 422, code: 'invalid_request', pointers });

/** A bound: what is still taken, and what is not any more. */
function bound(what, request, { status, good, bad, pointers }) {
  for (const value of good) add(`${what}: the most or least`, request(value), { status });
  for (const value of bad) add(`${what}: beyond`, request(value), refused(...pointers));
}

const webhook = (change) =>
  post('/v1/webhooks', { url: 'https://receiver.example.com/hooks', events: ['*'], ...change });
const ofWebhook = (member, good, bad, pointers = [`/${member}`]) =>
  bound(`a webhook's ${member}`, (value) => webhook({ [member]: value }), {
    status: 201,
    good,
    bad,
    pointers,
  });

// What else a group of settings needs.
const NEEDED = { coalesce: { ordering: 'group' } };

const ofGroup = (group, member, good, bad) =>
  bound(
    `a webhook's ${group}.${member}`,
    (value) => webhook({ ...NEEDED[group], [group]: { [member]: value } }),
    {
      status: 201,
      good,
      bad,
      pointers: [`/${group}/${member}`],
    },
  );

/** What a plain setting takes, and what it does not. */
function boundsOf(setting) {
  switch (setting.kind) {
    case 'number':
      return [
        [setting.least, setting.most],
        [setting.least - 1, setting.most + 1, 1.5, '5'],
      ];
    case 'text':
      if (setting.form) {
        const padded = repeat('a', setting.most - setting.sample.length, setting.sample);
        const beyond = repeat('a', setting.most + 1 - setting.sample.length, setting.sample);
        return [
          [setting.sample, padded],
          [beyond, '', 'a b', 1],
        ];
      }
      return [
        ['', repeat('d', setting.most), repeat('🥿', setting.most)],
        [repeat('d', setting.most + 1), 1, null],
      ];
    case 'choice':
      return [setting.choices, ['loose']];
    case 'uid':
      return [
        ['u', repeat('u', 128), 'a.b_c-D'],
        ['', repeat('u', 129), '.a', 'a b', 'wh_a'],
      ];
    case 'delays':
      return [
        [['0s'], listOf(30, '7d')],
        [[], listOf(31, '1s')],
      ];
  }
}

ofWebhook(
  'url',
  [SITE, repeat('a', 2_048 - SITE.length, SITE)],
  [
    repeat('a', 2_049 - SITE.length, SITE),
    'http://a.example.com/',
    'https://127.0.0.1/',
    'https://localhost/',
    'a',
    '',
  ],
);
ofWebhook('events', [['*'], ['keyword.*', 'brief.created']], [[], ['keyword.*', 'keyword.*']]);
ofWebhook('events', [], [['keyword']], ['/events/0']);
ofWebhook('events', [], [many(101, (index) => `keyword.n${index}`)]);
const notTimes = (count) => (count === 0 ? { a: 1 } : { $not: notTimes(count - 1) });
ofWebhook(
  'filter',
  [
    { 'customer.tier': 'gold', position: { gte: 1, lte: 10.5 }, note: null },
    { $any: [{ tags: { contains: 'new' } }, { $not: { tier: { in: ['gold', 1, true, null] } } }] },
    members(50, { exists: true }),
    notTimes(4),
    { a: { in: listOf(100, 1) } },
    { a: repeat('a', 4_088) },
    { a: 9_007_199_254_740_991 },
  ],
  [{}, [], 'a', null, members(51), { a: repeat('a', 4_089) }],
);
ofWebhook('filter', [], [notTimes(5)], ['/filter/$not/$not/$not/$not/$not']);
ofWebhook('filter', [], [{ a: { in: listOf(101, 1) } }, { a: { in: [] } }], ['/filter/a/in']);
ofWebhook('filter', [], [{ a: 9_007_199_254_740_992 }, { a: {} }, { a: ['b'] }], ['/filter/a']);
ofWebhook('filter', [], [{ a: { lte: '10' } }, { a: { lte: true } }], ['/filter/a/lte']);
ofWebhook('filter', [], [{ a: { less: 1 } }], ['/filter/a/less']);
for (const [member, setting] of Object.entries(endpointSettings)) {
  if (setting.kind === 'group') {
    for (const [name, each] of Object.entries(setting.members)) ofGroup(member, name, ...boundsOf(each));
  } else ofWebhook(member, ...boundsOf(setting));
}
ofWebhook('retry_schedule', [], [['8d'], ['soon'], [' 1s'], [5]], ['/retry_schedule/0']);
ofWebhook('secret', [key(24), key(64)], [key(23), key(65), 'secret', 'whsec_']);
ofWebhook('status', ['enabled', 'disabled'], ['on']);
ofWebhook('metadata', [{}, members(50, 'v')], [members(51), ['a']]);
ofWebhook('metadata', [{ n: repeat('v', 500) }], [{ n: repeat('v', 501) }, { n: 1 }], ['/metadata/n']);
ofWebhook('headers', [{}, members(20, 'v')], [members(21)]);
ofWebhook('headers', [{ n: repeat('v', 1_000) }], [{ n: repeat('v', 1_001) }, { n: '' }], ['/headers/n']);
ofWebhook('headers', [], [{ host: 'a' }], ['/headers/host']);
ofWebhook('colour', [], ['red']);

const event = (change, headers) =>
  post(
    '/v1/events',
    { type: 'keyword.quick_win', data: { keyword: 'red shoes', position: 1, volume: 0 }, ...change },
    headers,
  );
const ofEvent = (member, good, bad, pointers = [`/${member}`]) =>
  bound(`an event's ${member}`, (value) => event({ [member]: value }), { status: 202, good, bad, pointers });

ofEvent('id', ['7', 'A-z_9', repeat('i', 128)], ['', repeat('i', 129), 'a b', 'a.b', 'ä', 7]);
ofEvent('type', ['keyword.quick_win'], ['', 'keyword', 'keyword.lost', 'webhook.failing', 7, null]);
ofEvent('webhook_ids', [], [[], listOf(101, 'wh_a'), 'crm']);
ofEvent('webhook_ids', [], [['no-such-webhook']], ['/webhook_ids/0']);
ofEvent('colour', [], ['red']);
const ofData = (change) => ({ keyword: 'red shoes', position: 1, volume: 0, ...change });
ofEvent('data', [], [null, [], 'text']);
ofEvent('data', [], [ofData({ position: 0 }), ofData({ position: 1.5 })], ['/data/position']);
ofEvent('data', [], [ofData({ keyword: { $nest: 101 } })]);

// The most bytes that an event may have here, as the body that is delivered; by default they are 262,144.
const MAX_EVENT_BYTES = 1_024;
const around = JSON.stringify({ type: 'keyword.quick_win', data: ofData({ keyword: '' }) }).length;
const ofBytes = (bytes) => event({ data: ofData({ keyword: repeat('k', bytes - around) }) });
add('the length of an event: the most', ofBytes(MAX_EVENT_BYTES), { status: 202 });
add('the length of an event: beyond', ofBytes(MAX_EVENT_BYTES + 1), {
  status: 413,
  code: 'payload_too_large',
});

const KEY = 'idempotency-key';
for (const value of ['k', 'k'.repeat(255), '!~'])
  add('an Idempotency-Key', event({}, { [KEY]: value }), { status: 202 });
for (const value of ['k'.repeat(256), 'a b']) {
  add('an Idempotency-Key: beyond', event({}, { [KEY]: value }), refused('Idempotency-Key'));
}

const batch = (count) => post('/v1/events/batch', { events: listOf(count, { type: 'no.such', data: 1 }) });
bound('the events of a batch', batch, { status: 207, good: [1, 500], bad: [0, 501], pointers: ['/events'] });

const list = (limit) => ({ method: 'GET', path: `/v1/webhooks?limit=${limit}` });
bound('a page', list, { status: 200, good: [1, 200], bad: [0, 201, '1e1', ''], pointers: ['?/limit'] });

const rotate = (change) => post('/v1/webhooks/{webhook}/rotate-secret', change);
const overlap = (overlap_seconds) => rotate({ overlap_seconds });
bound('the overlap of a rotation', overlap, {
  status: 201,
  good: [0, 604_800],
  bad: [-1, 604_801],
  pointers: ['/overlap_seconds'],
});

const replay = (change) =>
  post('/v1/webhooks/{webhook}/replays', {
    since: '2026-01-01T00:00:00Z',
    mode: 'all',
    dry_run: true,
    ...change,
  });
const rate = (value) => replay({ rate: value });
bound('the rate of a replay', rate, {
  status: 202,
  good: [1, 1_000],
  bad: [0, 1_001, 1.5],
  pointers: ['/rate'],
});
const since = (value) => replay({ since: value });
bound('the start of a replay', since, {
  status: 202,
  good: [],
  bad: ['2026-01-01', 'yesterday', '2999-01-01T00:00:00Z'],
  pointers: ['/since'],
});

const apiKey = (change) => post('/v1/api-keys', { name: 'ci', scopes: ['events:write'], ...change });
const name = (value) => apiKey({ name: value });
bound("an API key's name", name, {
  status: 201,
  good: ['n', repeat('n', 100)],
  bad: ['', ' ', repeat('n', 101), 'a\nb'],
  pointers: ['/name'],
});
const scopes = (value) => apiKey({ scopes: value });
bound("an API key's scopes", scopes, {
  status: 201,
  good: [['events:write', 'webhooks:read']],
  bad: [[], ['events:write', 'events:write']],
  pointers: ['/scopes'],
});

const settings = { MAX_EVENT_BYTES: String(MAX_EVENT_BYTES) };
writeFileSync(new URL('bounds.json', import.meta.url), `${JSON.stringify({ settings, cases }, null, 2)}\n`);
