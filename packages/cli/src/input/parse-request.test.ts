import { UsageError } from '../failures/usage-error';
import { parseRequest } from './parse-request';

const BODY = Buffer.from([0x7b, 0x0a, 0x0a, 0xff, 0x0d, 0x0a, 0x0d, 0x0a]);

it.each(['\n', '\r\n'])('splits the head from the raw body, with %p between lines', (end) => {
  const head = ['POST /hook HTTP/1.1', 'Webhook-Id:  evt_1 ', 'x-a: 1', 'X-A: 2', '', ''].join(end);
  expect(parseRequest(Buffer.concat([Buffer.from(head), BODY]))).toEqual({
    headers: { 'webhook-id': ['evt_1'], 'x-a': ['1', '2'] },
    body: BODY,
  });
});

it.each(['', '{"type":"a"}', 'webhook-id: evt_1', 'not a header\n\n{}'])('refuses %p', (text) => {
  expect(() => parseRequest(Buffer.from(text))).toThrow(UsageError);
});
