import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { accountIdSchema } from '@hookferry/core/domain/account';
import { createClosables } from '@hookferry/core/testing/closables';
import express, { type Response } from 'express';
import { UnreadAnswers } from './long-requests';
import { originOf } from './mount-route';

describe('request origin', () => {
  it.each([
    ['hooks.example.com', 'https://hooks.example.com'],
    ['Hooks.Example.com:8443', 'https://hooks.example.com:8443'],
    ['my_api:3000', 'https://my_api:3000'],
    ['127.0.0.1:3000', 'https://127.0.0.1:3000'],
    ['[2001:DB8::1]:3000', 'https://[2001:db8::1]:3000'],
    ['localhost', 'https://localhost'],
  ])('is %s as it was named', (host, origin) => {
    expect(originOf({ protocol: 'https', host })).toBe(origin);
  });

  it.each([
    '',
    ' ',
    'a b',
    'a"><script>alert(1)</script>',
    'hooks.example.com/path',
    'hooks.example.com#code=whc_',
    'hooks.example.com?x',
    'user@hooks.example.com',
    'user:password@hooks.example.com:80',
    'hooks.example.com:',
    'hooks.example.com:80:80',
    'hooks.example.com:65536',
    'hooks.example.com:8o',
    'a..b',
    '.example.com',
    '-.example.com',
    'exämple.com',
    'a%2fb',
    'a\\b',
    "a'b",
    '[::1',
    '[1:2]',
    '[::1]x',
    '2001:db8::1',
    'a'.repeat(300),
  ])('is refused for %j', (host) => {
    expect(() => originOf({ protocol: 'https', host })).toThrow(
      expect.objectContaining({ code: 'malformed_request' }),
    );
  });
});

describe('unread answers', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  it('does not count an answer whose client has gone before it was made', async () => {
    const accountId = accountIdSchema.parse('one');
    const unread = new UnreadAnswers();
    const app = express();
    const asked = new Promise<Response>((resolve) => app.get('/', (_request, response) => resolve(response)));
    const server = app.listen(0, '127.0.0.1');
    willClose({ close: () => void server.close() });
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    const response = await asked;
    const closed = once(response, 'close');
    socket.destroy();
    await closed;
    unread.note(accountId, 1_000_000, response);
    expect(unread.of(accountId)).toBe(0);
  });
});
