import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { routes } from '../routes/index';
import { breakingChanges } from '../testing/compare-descriptions';
import { describeApi } from './document';

/** The description, or any node of it. */
type Document = ReturnType<typeof JSON.parse>;

const released: Document = JSON.parse(readFileSync(join(__dirname, '../../released-openapi.json'), 'utf8'));

it('breaks no client of the last release', () => {
  const faults = breakingChanges(released, JSON.parse(JSON.stringify(describeApi(routes))));
  const advice =
    'Add a member or a route beside the old one, and declare the old one deprecated (docs/api.md). Before the first release: npm run released.';
  expect(faults.length === 0 ? [] : [...faults, advice]).toEqual([]);
});

const schemasOf = (document: Document) => document.components.schemas;

it.each<[string, (now: Document) => void, string]>([
  ['a route', ({ paths }) => delete paths['/v1/me'], 'GET /v1/me is gone'],
  [
    'an event type',
    ({ webhooks }) => delete webhooks['webhook.failing'],
    'The event type webhook.failing is gone',
  ],
  [
    'a name of an operation',
    ({ paths }) => (paths['/v1/me'].get.operationId = 'whoAmI'),
    'GET /v1/me: its operationId has changed',
  ],
  [
    'a parameter',
    ({ paths }) => paths['/v1/webhooks'].get.parameters.shift(),
    'GET /v1/webhooks: the parameter query limit is gone',
  ],
  [
    'a status',
    ({ paths }) => delete paths['/v1/events'].post.responses['202'],
    'POST /v1/events: the response 202 is gone',
  ],
  [
    'a media type',
    ({ paths }) => delete paths['/v1/contacts/{id}'].patch.requestBody.content['application/json'],
    'PATCH /v1/contacts/{id}: the request: the media type application/json is gone',
  ],
  [
    'a member of a response',
    (now) => delete schemasOf(now).Replay.properties.rate,
    'Replay in responses: the member rate is gone',
  ],
  [
    'a member that was always there',
    (now) => schemasOf(now).Replay.required.shift(),
    'Replay in responses: the member id may be absent',
  ],
  [
    'a value that was never null',
    (now) => (schemasOf(now).Replay.properties.rate = { anyOf: [{ type: 'integer' }, { type: 'null' }] }),
    'Replay in responses, rate: its type was integer, and is null',
  ],
  [
    'a type of a member',
    (now) => (schemasOf(now).Replay.properties.rate.type = 'string'),
    'Replay in responses, rate: its type was integer, and is string',
  ],
  [
    'a member of a request',
    (now) => delete schemasOf(now).NewReplay.properties.rate,
    'NewReplay in requests: the member rate is gone',
  ],
  [
    'an optional member of a request',
    (now) => schemasOf(now).NewReplay.required.push('rate'),
    'NewReplay in requests: the member rate has become required',
  ],
  [
    'a value of a request',
    (now) => schemasOf(now).NewReplay.properties.mode.enum.shift(),
    'NewReplay in requests, mode: the value "failed" is no longer taken',
  ],
  [
    'a bound of a request',
    (now) => (schemasOf(now).NewReplay.properties.rate.maximum = 10),
    'NewReplay in requests, rate: maximum has shrunk',
  ],
  [
    'the data of an event',
    (now) => delete schemasOf(now).DeliveryExhaustedEvent.properties.data.properties.event_type,
    'DeliveryExhaustedEvent in responses, data: the member event_type is gone',
  ],
])('says so when a change takes away %s', (_name, change, fault) => {
  const now = structuredClone(released);
  change(now);
  expect(breakingChanges(released, now)).toContain(fault);
});

it.each<[string, (now: Document) => void]>([
  ['a route', ({ paths }) => (paths['/v1/new'] = paths['/v1/me'])],
  ['a member of a response', (now) => (schemasOf(now).Replay.properties.more = { type: 'string' })],
  ['a value in a response', (now) => schemasOf(now).Replay.properties.status.enum.push('paused')],
  [
    'an optional member of a request',
    (now) => (schemasOf(now).NewReplay.properties.more = { type: 'string' }),
  ],
  ['a value of a request', (now) => schemasOf(now).NewReplay.properties.mode.enum.push('some')],
  [
    'a kind of actor',
    (now) =>
      (schemasOf(now).AuditActor.anyOf ?? schemasOf(now).AuditActor.oneOf).push({
        type: 'object',
        properties: { type: { type: 'string', const: 'service' } },
      }),
  ],
])('lets a change add %s', (_name, change) => {
  const now = structuredClone(released);
  change(now);
  expect(breakingChanges(released, now)).toEqual([]);
});
