import { describeNetworkError } from './got-exchange';

const OPENSSL =
  'write EPROTO 807C83F73A7F0000:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../deps/openssl/openssl/ssl/record/ssl3_record.c:350:\n';

it("gives the reason of an OpenSSL error, and nothing of OpenSSL's insides", () => {
  expect(describeNetworkError(new Error(OPENSSL))).toBe('TLS failed: wrong version number.');
});

it('gives every other message as it is', () => {
  const message = 'connect ECONNREFUSED 127.0.0.1:443';
  expect(describeNetworkError(new Error(message))).toBe(message);
});
