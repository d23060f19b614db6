import type { ClientRequestArgs } from 'node:http';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { BlockedAddressError, JudgeTarget } from './judge-target';

export type Connected = Duplex | null | undefined;
export type OnConnection = (error: Error | null, stream: Duplex) => void;

export interface ConnectOptions extends ClientRequestArgs {
  /** A connection that stands already, for what is to go over it. */
  readonly socket?: Duplex;
}

/** Opens an agent's connections: gives one at once, or later to `onConnection`. `connect` is what Node would do. */
export type Route = (
  options: ConnectOptions,
  onConnection: OnConnection | undefined,
  connect: (options: ConnectOptions) => Connected,
) => Connected;

/** Judges what is never looked up: a literal address, or a socket in the file system, which is none of a receiver's. */
export function judgeLiteral(
  { socketPath, host }: ConnectOptions,
  judgeTarget: JudgeTarget,
): BlockedAddressError | undefined {
  const target = socketPath ?? host ?? '';
  return socketPath === undefined && isIP(target) === 0 ? undefined : judgeTarget(target, target);
}

/** Not thrown: the agent may be at it from a timer or an event, where nobody would catch. */
export function refuse(error: Error, onConnection: OnConnection | undefined): undefined {
  if (!onConnection) throw error;
  (onConnection as (error: Error) => void)(error);
}

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
