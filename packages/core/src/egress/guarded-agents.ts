import { type ClientRequestArgs, Agent as HttpAgent, type AgentOptions as HttpAgentOptions } from 'node:http';
import { Agent as HttpsAgent, type AgentOptions as HttpsAgentOptions } from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { JudgeTarget } from './judge-target';

export interface Guard {
  readonly judgeTarget: JudgeTarget;
  /** Gives addresses that `judgeTarget` has nothing against. */
  readonly lookup: LookupFunction;
}

type Connected = Duplex | null | undefined;
type OnConnection = (error: Error | null, stream: Duplex) => void;

/**
 * An agent whose connections go to allowed addresses only, whatever URL and DNS say: a literal address is judged
 * before connecting, a name by each of its addresses, and the peer once connected, before it is sent a byte.
 * A kept-alive connection stays with the peer that was judged when it was opened.
 */
export class GuardedHttpAgent extends HttpAgent {
  constructor(
    private readonly guard: Guard,
    options: HttpAgentOptions,
  ) {
    super(options);
  }

  override createConnection(options: ClientRequestArgs, onConnection?: OnConnection): Connected {
    return connectGuarded(this.guard, options, onConnection, (guarded) =>
      super.createConnection(guarded, onConnection),
    );
  }
}

/** The same with TLS. */
export class GuardedHttpsAgent extends HttpsAgent {
  constructor(
    private readonly guard: Guard,
    options: HttpsAgentOptions,
  ) {
    super(options);
  }

  override createConnection(options: ClientRequestArgs, onConnection?: OnConnection): Connected {
    return connectGuarded(this.guard, options, onConnection, (guarded) =>
      super.createConnection(guarded, onConnection),
    );
  }
}

function connectGuarded(
  { judgeTarget, lookup }: Guard,
  options: ClientRequestArgs,
  onConnection: OnConnection | undefined,
  connect: (options: ClientRequestArgs) => Connected,
): Connected {
  // A socket in the file system has no address, and is none of a receiver's.
  const host = options.socketPath ?? options.host ?? '';
  // Node never looks up a literal address.
  const isLookedUp = options.socketPath === undefined && isIP(host) === 0;
  const blocked = isLookedUp ? undefined : judgeTarget(host, host);
  if (blocked) return refuse(blocked, onConnection);
  const socket = connect({ ...options, lookup }) as Socket;
  // Before all others who wait for the connection: they send the request, or begin the TLS handshake.
  socket.prependOnceListener('connect', () => judgePeer(socket, host, judgeTarget));
  return socket;
}

function refuse(error: Error, onConnection: OnConnection | undefined): undefined {
  // Not thrown: the agent may be at it from a timer or an event, where nobody would catch.
  if (!onConnection) throw error;
  (onConnection as (error: Error) => void)(error);
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
