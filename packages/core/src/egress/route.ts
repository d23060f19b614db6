import type { ClientRequestArgs } from 'node:http';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import type { BlockedAddressError } from './egress-errors';
import type { JudgeTarget } from './judge-target';

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
