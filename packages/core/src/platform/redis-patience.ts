import type { Duplex } from 'node:stream';
import type { Redis } from 'ioredis';
import { startPatience } from './timers';

/** What ioredis has of a command, some of it private. */
interface TimedCommand {
  _commandTimeoutTimer?: NodeJS.Timeout;
  readonly reject: (error: Error) => void;
}

/** The same of a connection. */
interface TimedConnection {
  readonly stream: Duplex;
  readonly options: { readonly socketTimeout: number };
  readonly commandQueue: { readonly length: number };
  socketTimeoutTimer?: NodeJS.Timeout | undefined;
}

/**
 * Let a process that stood still read what Redis has sent meanwhile, before it counts Redis as silent. ioredis' own timers
 * fire first: on a busy machine a request failed with 503, and a connection was replaced, although the reply was there.
 * `commandTimeout` and `socketTimeout` of the connection stay what they are.
 */
export function waitPatiently(node: Redis): void {
  const send = node.sendCommand.bind(node);
  node.sendCommand = (command, stream) => {
    command.setTimeout = failWhenOverdue;
    return send(command, stream);
  };
  const connection = node as unknown as TimedConnection;
  Object.assign(node, { setSocketTimeout: () => breakWhenSilent(connection) });
}

/* oxlint-disable no-underscore-dangle -- ioredis' name */
/** ioredis clears the timer. A command that is sent once more after a reconnect gets no more time. */
function failWhenOverdue(this: unknown, patienceMs: number): void {
  const command = this as TimedCommand;
  if (command._commandTimeoutTimer) return;
  const fail = () => command.reject(new Error('Command timed out'));
  startPatience(patienceMs, fail, (timer) => {
    command._commandTimeoutTimer = timer;
  });
}

/** Called by ioredis with a command, unless there is a timer. */
function breakWhenSilent(connection: TimedConnection): void {
  const { stream } = connection;
  const { socketTimeout } = connection.options;
  const stop = () => {
    clearTimeout(connection.socketTimeoutTimer);
    connection.socketTimeoutTimer = undefined;
  };
  const destroy = () => {
    stop();
    stream.destroy(
      new Error(`Socket timeout. Expecting data, but didn't receive any in ${socketTimeout}ms.`),
    );
  };
  startPatience(socketTimeout, destroy, (timer) => {
    connection.socketTimeoutTimer = timer;
  });
  // Behind the listener that takes the replies.
  stream.once('data', () => {
    stop();
    if (connection.commandQueue.length > 0) breakWhenSilent(connection);
  });
}
