/** The proxy is out of order, or does not let us in: none of the receiver's faults. */
export class ProxyFaultError extends Error {
  override readonly name = 'ProxyFaultError';
  /** Comes through the HTTP client, which the class does not. */
  readonly code = PROXY_FAULT_CODE;
}

export const PROXY_FAULT_CODE = 'ERR_PROXY_FAULT';

/** The proxy answered, and there is no way to the receiver. */
export class TunnelError extends Error {
  override readonly name = 'TunnelError';

  constructor(
    /** Comes through the HTTP client, which the class does not. */
    readonly code: 'ERR_PROXY_DENIED' | 'ERR_PROXY_CONNECT_FAILED' | 'ERR_PROXY_CONNECT_TIMEOUT',
    message: string,
  ) {
    super(message);
  }
}
