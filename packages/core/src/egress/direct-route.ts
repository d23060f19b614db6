import type { LookupFunction, Socket } from 'node:net';
import type { JudgeTarget } from './judge-target';
import { judgeLiteral, type Route, refuse } from './route';

export interface Guard {
  readonly judgeTarget: JudgeTarget;
  /** Gives addresses that `judgeTarget` has nothing against. */
  readonly lookup: LookupFunction;
}

/**
 * Leads to allowed addresses only, whatever URL and DNS say: a literal address is judged before connecting, a name by
 * each of its addresses, and the peer once connected, before it is sent a byte.
 */
export function directRoute({ judgeTarget, lookup }: Guard): Route {
  return (options, onConnection, connect) => {
    const blocked = judgeLiteral(options, judgeTarget);
    if (blocked) return refuse(blocked, onConnection);
    const socket = connect({ ...options, lookup }) as Socket;
    // Before all others who wait for the connection: they send the request, or begin the TLS handshake.
    socket.prependOnceListener('connect', () => judgePeer(socket, options.host ?? '', judgeTarget));
    return socket;
  };
}

function judgePeer(socket: Socket, host: string, judgeTarget: JudgeTarget): void {
  const { remoteAddress } = socket;
  const fault = remoteAddress === undefined ? new HungUpError() : judgeTarget(host, remoteAddress);
  if (fault) socket.destroy(fault);
}

/** A connection that has no peer any more by the time that it could be judged. */
class HungUpError extends Error {
  readonly code = 'ECONNRESET';

  constructor() {
    super('The receiver hung up as soon as it was connected.');
  }
}
