// Writes conformance/events.json: what receivers read from requests whose signature is good. Run again only to add cases.
import { writeFileSync } from 'node:fs';

const time = '2026-01-02T03:04:05.678Z';
const data = { title: 'Über uns 🚀' };
const type = 'brief.created';
const attributes = {
  specversion: '1.0',
  id: 'evt_1',
  source: '/shop',
  type: 'com.example.brief.created',
  time,
};
const full = { ...attributes, subject: 'b1', partitionkey: 'order-1', datacontenttype: 'application/json' };
const read = ({ data: of = data, ...from } = full) => ({
  id: from.id,
  type: from.type,
  data: of,
  ...(from.time === undefined ? {} : { accepted_at: from.time }),
  cloudevent: from,
});
const item = (id) => ({ id, type, timestamp: time, data });
const listed = (id) => ({ id, type, data, accepted_at: time });
const batch = (...items) => ({ type: 'batch', data: items });
const ce = {
  'ce-specversion': '1.0',
  'ce-id': 'evt_1',
  'ce-source': '/shop',
  'ce-type': 'com.example.brief.created',
  'ce-time': time,
};
const binary = {
  binary: true,
  headers: { ...ce, 'ce-subject': 'r%C3%B6d%20%25', 'ce-partitionkey': 'order-1' },
};
const ofHeaders = {
  ...attributes,
  subject: 'röd %',
  partitionkey: 'order-1',
  datacontenttype: 'application/json',
};
const refused = { expect: 'invalid_payload' };

const single = (event) => ({ is_batch: false, events: [event] });
const several = (...events) => ({ is_batch: true, events });

const cases = [
  ['the usual format', { body: { type, data }, expect: single({ id: 'evt_1', type, data }) }],
  [
    'the usual format, with the signature of the body alone',
    { service: true, body: { type, data }, expect: single({ type, data }) },
  ],
  [
    'an event whose data is null',
    { body: { type, data: null }, expect: single({ id: 'evt_1', type, data: null }) },
  ],
  ['no data', { body: { type }, ...refused }],
  ['a type that is no text', { body: { type: 7, data }, ...refused }],
  ['a text', { body: 'x', ...refused }],
  ['null', { body: null, ...refused }],
  ['no JSON', { text: '{', ...refused }],
  [
    'several events',
    {
      id: 'batch_1',
      body: batch(item('evt_1'), item('evt_2')),
      expect: several(listed('evt_1'), listed('evt_2')),
    },
  ],
  ['a list of one event', { id: 'batch_1', body: batch(item('evt_1')), expect: several(listed('evt_1')) }],
  [
    'several events, with the signature of the body alone',
    { service: true, body: batch(item('evt_1')), expect: several(listed('evt_1')) },
  ],
  ['an item without an id', { id: 'batch_1', body: batch({ ...item('evt_1'), id: undefined }), ...refused }],
  ['an item that is not an object', { id: 'batch_1', body: batch(item('evt_1'), 7), ...refused }],
  ['a structured CloudEvent', { body: { ...full, data }, expect: single(read()) }],
  [
    'a structured CloudEvent, with the signature of the body alone',
    { service: true, body: { ...full, data }, expect: single(read()) },
  ],
  [
    'a structured CloudEvent with extensions',
    {
      body: { ...full, tenant: 'acme', level: 3, data },
      expect: single(read({ ...full, tenant: 'acme', level: 3 })),
    },
  ],
  [
    'a structured CloudEvent whose data is text',
    {
      body: { ...full, datacontenttype: 'text/plain', data: 'x' },
      expect: single(read({ ...full, datacontenttype: 'text/plain', data: 'x' })),
    },
  ],
  ['a CloudEvent of another version', { body: { ...full, specversion: '0.3', data }, ...refused }],
  ['a CloudEvent without a source', { body: { ...full, source: undefined, data }, ...refused }],
  ['a CloudEvent with an empty type', { body: { ...full, type: '', data }, ...refused }],
  [
    'a list of CloudEvents',
    {
      id: 'batch_1',
      body: [
        { ...full, data },
        { ...full, id: 'evt_2', data },
      ],
      expect: several(read(), read({ ...full, id: 'evt_2' })),
    },
  ],
  [
    'a list with something else',
    {
      id: 'batch_1',
      body: [
        { ...full, data },
        { type, data },
      ],
      ...refused,
    },
  ],
  ['a binary CloudEvent', { ...binary, body: data, expect: single(read(ofHeaders)) }],
  [
    'a binary CloudEvent that looks like the usual format',
    { ...binary, body: { type, data }, expect: single(read({ ...ofHeaders, data: { type, data } })) },
  ],
  [
    'a binary CloudEvent whose data is text',
    {
      ...binary,
      headers: { ...binary.headers, 'content-type': 'text/csv' },
      text: 'a,b',
      expect: single(read({ ...ofHeaders, datacontenttype: 'text/csv', data: 'a,b' })),
    },
  ],
  ['a binary CloudEvent that nobody asked for', { ...binary, binary: false, body: data, ...refused }],
  [
    'attributes as headers around the usual format',
    { ...binary, binary: false, body: { type, data }, ...refused },
  ],
  [
    'a binary CloudEvent with the id of another',
    { ...binary, headers: { ...ce, 'ce-id': 'evt_2' }, body: data, ...refused },
  ],
  [
    'a binary CloudEvent without a type',
    { ...binary, headers: { ...ce, 'ce-type': undefined }, body: data, ...refused },
  ],
  [
    'the usual format, where binary CloudEvents are taken',
    { binary: true, body: { type, data }, expect: single({ id: 'evt_1', type, data }) },
  ],
];

const written = cases.map(
  ([name, { id = 'evt_1', service = false, binary: isTaken = false, headers = {}, body, text, expect }]) => ({
    name,
    id,
    service,
    binary: isTaken,
    headers: { 'content-type': 'application/json', ...headers },
    body: text ?? JSON.stringify(body),
    expect,
  }),
);
writeFileSync(new URL('events.json', import.meta.url), `${JSON.stringify({ cases: written }, null, 2)}\n`);
