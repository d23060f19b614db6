/** The ways in which a request fails before there is a response, also one that a listener forwards. */
export const requestFailures = [
  'dns_error',
  'connect_refused',
  'connect_timeout',
  'connection_reset',
  'tls_error',
  'response_timeout',
  'protocol_error',
  'network_error',
] as const;

/** Those of attempts, and of requests that verify an endpoint. */
export const networkFailures = ['blocked_address', ...requestFailures] as const;
