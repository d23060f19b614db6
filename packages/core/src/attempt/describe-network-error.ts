// OpenSSL in Node's words: `write EPROTO 807C…:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../deps/…`
const OPENSSL = /:error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):/;

/** What went wrong, for who looks at an attempt: of OpenSSL's errors the reason, without where it is in its source. */
export function describeNetworkError({ message }: Error): string {
  const reason = OPENSSL.exec(message)?.[1];
  return reason === undefined ? message : `TLS failed: ${reason}.`;
}
