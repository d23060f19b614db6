import { createServer } from 'node:net';

/**
 * A receiver that costs next to nothing: it finds where each request ends, and answers 204. Run as a process of
 * its own; tells its parent the port, and then how many requests came, with the time of the last one.
 */
const ANSWER = 'HTTP/1.1 204 No Content\r\n\r\n';
const HEAD_END = '\r\n\r\n';
const CONTENT_LENGTH = /content-length: (\d+)/i;

let received = 0;
let lastAt = 0;

const server = createServer((socket) => {
  let pending = '';
  socket.setNoDelay(true);
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    pending += chunk;
    for (let end = endOfRequest(pending); end !== undefined; end = endOfRequest(pending)) {
      pending = pending.slice(end);
      received += 1;
      lastAt = Date.now();
      socket.write(ANSWER);
    }
  });
  socket.on('error', () => socket.destroy());
});

server.listen(0, '127.0.0.1', () => process.send?.({ address: server.address() }));
process.on('message', () => process.send?.({ received, lastAt }));
process.on('disconnect', () => process.exit());

function endOfRequest(text: string): number | undefined {
  const headEnd = text.indexOf(HEAD_END);
  if (headEnd === -1) return undefined;
  const length = Number(CONTENT_LENGTH.exec(text.slice(0, headEnd))?.[1] ?? 0);
  const end = headEnd + HEAD_END.length + length;
  return text.length >= end ? end : undefined;
}
