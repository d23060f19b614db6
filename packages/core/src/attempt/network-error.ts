import type { TransportFailure } from './transport';

const BY_CODE: Readonly<Record<string, TransportFailure>> = {
  ERR_BLOCKED_ADDRESS: 'blocked_address',
  ERR_PROXY_DENIED: 'blocked_address',
  ERR_PROXY_CONNECT_TIMEOUT: 'connect_timeout',
  ERR_PROXY_CONNECT_FAILED: 'network_error',
  ERR_UNRESOLVED_NAME: 'dns_error',
  ECONNREFUSED: 'connect_refused',
  ETIMEDOUT: 'connect_timeout',
  ECONNRESET: 'connection_reset',
  EPIPE: 'connection_reset',
  EPROTO: 'tls_error',
};

// OpenSSL's and Node's names for what is wrong with a handshake, a certificate or a key.
const TLS_CODE =
  /^(ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|INVALID_)/;
// llhttp's codes: what came back is not HTTP.
const PARSER_CODE = /^HPE_/;

/** Why a request got no answer, by the error's code. */
export function classifyNetworkError(error: Error): TransportFailure {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return 'network_error';
  if (TLS_CODE.test(code)) return 'tls_error';
  if (PARSER_CODE.test(code)) return 'protocol_error';
  return BY_CODE[code] ?? 'network_error';
}

// OpenSSL in Node's words: `write EPROTO 807C…:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../deps/…`
const OPENSSL = /:error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):/;

/** What went wrong, for who looks at an attempt: of OpenSSL's errors the reason, without where it is in its source. */
export function describeNetworkError({ message }: Error): string {
  const reason = OPENSSL.exec(message)?.[1];
  return reason === undefined ? message : `TLS failed: ${reason}.`;
}
