// @ts-check
import { connect } from 'node:net';

const ANSWER_TIMEOUT_MS = 1000;

/**
 * @param {number} port on 127.0.0.1
 * @returns {Promise<boolean>} whether a Redis takes commands there (one that still loads its data does not)
 */
export function answersPing(port) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    /** @param {boolean} answers */
    const settle = (answers) => {
      socket.destroy();
      resolve(answers);
    };
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => settle(false));
    socket.once('error', () => settle(false));
    socket.once('close', () => settle(false));
    socket.once('data', (answer) => settle(answer.toString('latin1').startsWith('+PONG')));
    socket.write('*1\r\n$4\r\nPING\r\n');
  });
}
