import type { Socket } from 'node:net';

/** Far more than the headers of an answer may take (Node's 16 KiB) and a handful of interim answers before it. */
const MAX_PREAMBLE_BYTES = 128 * 1024;

/**
 * Watches what comes before an answer. Blank lines and interim answers (103) may come without end, and nothing else
 * limits them: a receiver that sends them as fast as it can would keep a processor busy until the deadline.
 *
 * @returns stops watching; to be called when the answer begins, or there will be none.
 */
export function limitPreamble(socket: Socket, onTooLong: () => void): () => void {
  const limit = socket.bytesRead + MAX_PREAMBLE_BYTES;
  const look = () => {
    if (socket.bytesRead > limit) onTooLong();
  };
  socket.on('data', look);
  return () => socket.off('data', look);
}
