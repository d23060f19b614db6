import { createServer } from 'node:net';
import { onEachRequest } from './each-request';

/**
 * A receiver that costs next to nothing: it finds where each request ends, and answers 204. Run as a process of
 * its own; tells its parent the port, and then how many requests came, with the time of the last one.
 */
const ANSWER = 'HTTP/1.1 204 No Content\r\n\r\n';

let received = 0;
let lastAt = 0;

const server = createServer((socket) => {
  onEachRequest(socket, () => {
    received += 1;
    lastAt = Date.now();
    socket.write(ANSWER);
  });
});

server.listen(0, '127.0.0.1', () => process.send?.({ address: server.address() }));
process.on('message', () => process.send?.({ received, lastAt }));
process.on('disconnect', () => process.exit());
