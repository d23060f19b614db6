import { classifyNetworkError } from './got-exchange';

const withCode = (code: string) => Object.assign(new Error('ENOTFOUND in the message only'), { code });

describe('classifyNetworkError', () => {
  it.each([
    ['ERR_BLOCKED_ADDRESS', 'blocked_address'],
    ['ERR_PROXY_DENIED', 'blocked_address'],
    ['ERR_PROXY_CONNECT_TIMEOUT', 'connect_timeout'],
    ['ERR_PROXY_CONNECT_FAILED', 'network_error'],
    ['ERR_UNRESOLVED_NAME', 'dns_error'],
    ['ECONNREFUSED', 'connect_refused'],
    ['ETIMEDOUT', 'connect_timeout'],
    ['ECONNRESET', 'connection_reset'],
    ['EPIPE', 'connection_reset'],
    ['EPROTO', 'tls_error'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls_error'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls_error'],
    ['ERR_OSSL_PEM_NO_START_LINE', 'tls_error'],
    ['CERT_HAS_EXPIRED', 'tls_error'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls_error'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'tls_error'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'tls_error'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls_error'],
    ['HPE_INVALID_CONSTANT', 'protocol_error'],
    ['HPE_HEADER_OVERFLOW', 'protocol_error'],
    ['EHOSTUNREACH', 'network_error'],
    ['ENETUNREACH', 'network_error'],
  ])('takes %s for a %s', (code, failure) => {
    expect(classifyNetworkError(withCode(code))).toBe(failure);
  });

  it('decides by the code, never by the message', () => {
    expect(classifyNetworkError(new Error('connect ECONNREFUSED 127.0.0.1:80'))).toBe('network_error');
  });
});
