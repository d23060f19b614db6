import { faultsOf } from '../kernel/faults';
import { customHeadersPatchSchema, customHeadersSchema, MASKED_VALUE } from './custom-headers';

it('takes headers whatever their case, and keeps them in lower case', () => {
  const headers = { Authorization: 'Bearer a b', 'X-Tenant': '1' };
  expect(customHeadersSchema.parse(headers)).toEqual({ authorization: 'Bearer a b', 'x-tenant': '1' });
});

it.each([
  ['Host', 'a'],
  ['content-LENGTH', '1'],
  ['Transfer-Encoding', 'chunked'],
  ['Connection', 'close'],
  ['X-Service-Signature', 'sha256=0'],
  ['webhook-id', 'evt_1'],
  ['Proxy-Authorization', 'Basic a'],
  ['two words', 'a'],
  ['', 'a'],
  ['x:y', 'a'],
  ['x-a', 'line\r\nx-injected: 1'],
  ['x-a', 'Zoë'],
  ['x-a', ' padded'],
  ['x-a', ''],
  ['x-a', 'v'.repeat(1_001)],
  ['x-a', MASKED_VALUE],
])('refuses %j with the value %j', (name, value) => {
  const { error } = customHeadersSchema.safeParse({ [name]: value });
  expect(error && faultsOf(error)).toEqual([{ pointer: `/${name}`, detail: expect.any(String) }]);
});

it('lets a patch remove a header', () => {
  expect(customHeadersPatchSchema.parse({ 'X-Tenant': null })).toEqual({ 'x-tenant': null });
});
