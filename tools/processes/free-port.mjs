// @ts-check
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { Problem } from '../problem.mjs';

// Below the systems' own ranges, from which any outgoing connection may take a port before our server listens there.
const FIRST_PORT = 10_000;
const PORTS = 10_000;
const ATTEMPTS = 100;

/**
 * @param {string} host
 * @param {readonly number[]} except ports that somebody is about to take
 * @returns {Promise<number>}
 */
export async function findFreePort(host, except = []) {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = FIRST_PORT + randomInt(PORTS);
    if (!except.includes(port) && (await isPortFree(port, host))) return port;
  }
  throw new Problem(`No free port of ${host} was found between ${FIRST_PORT} and ${FIRST_PORT + PORTS - 1}.`);
}

/**
 * @param {number} port
 * @param {string} host
 * @returns {Promise<boolean>} whether a server could listen there now
 */
export function isPortFree(port, host) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
