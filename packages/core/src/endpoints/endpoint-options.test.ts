import { validationErrorsOf } from '../platform/app-error';
import {
  checkEndpointDraft,
  customHeadersPatchSchema,
  customHeadersSchema,
  MASKED_VALUE,
} from './endpoint-options';

describe('check endpoint draft', () => {
  const draft = { url: 'https://example.com/hook', events: ['*'] };

  it('finds nothing wrong with what the service would take, whatever its settings', () => {
    const all = {
      ...draft,
      url: 'http://localhost:4000/hook',
      filter: { position: { lte: 10 } },
      retry_schedule: ['5s', '1m'],
      headers: { 'X-Team': 'a' },
    };
    expect(checkEndpointDraft(draft)).toEqual([]);
    expect(checkEndpointDraft(all)).toEqual([]);
  });

  it.each([
    [{ url: 'example.com' }, '/url', 'must be an absolute URL such as https://example.com/webhooks'],
    [{ url: 'https://me:secret@example.com' }, '/url', 'must not contain a user name or password'],
    [{ url: 'https://example.com:22' }, '/url', 'must not use port 22, which belongs to another protocol'],
    [{ events: [] }, '/events', 'must name at least one event type'],
    [{ max_concurrency: 1_001 }, '/max_concurrency', 'must be at most 1000'],
    [{ timeout_ms: 2.5 }, '/timeout_ms', 'must be a whole number'],
    [
      { retry_schedule: ['5s', 'soon'] },
      '/retry_schedule/1',
      'must be a duration such as 250ms, 15s, 5m, 2h or 3d',
    ],
    [{ filter: { position: { lte: '10' } } }, '/filter/position/lte', 'must be a number: 10, without quotes'],
  ])('finds what is wrong in %j', (change, pointer, detail) => {
    expect(checkEndpointDraft({ ...draft, ...change })).toEqual([{ pointer, detail }]);
  });
});

describe('custom headers', () => {
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
    expect(error && validationErrorsOf(error)).toEqual([{ pointer: `/${name}`, detail: expect.any(String) }]);
  });

  it('lets a patch remove a header', () => {
    expect(customHeadersPatchSchema.parse({ 'X-Tenant': null })).toEqual({ 'x-tenant': null });
  });
});
