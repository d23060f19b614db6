import type { Socket } from 'node:net';

/**
 * Far more than the headers of an answer may take (Node's 16 KiB) and a handful of interim answers before it. Not
 * less than Node reads at once: what begins with an answer and goes on with its body is in the first read.
 */
const MAX_PREAMBLE_BYTES = 64 * 1024;

/**
 * Watches what comes before an answer. Blank lines and interim answers (103) may come without end, and nothing else
 * limits them: a receiver that sends them as fast as it can would keep a processor busy until the deadline.
 *
 * @returns stops watching; to be called when the answer begins, or there will be none.
 */
export function limitPreamble(socket: Socket, onTooLong: () => void): () => void {
  let bytes = 0;
  const take = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_PREAMBLE_BYTES) onTooLong();
  };
  socket.on('data', take);
  return () => socket.off('data', take);
}
