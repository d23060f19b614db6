// @ts-check
import { createServer } from 'node:net';

/**
 * @param {number} port
 * @param {string} host
 * @returns {Promise<boolean>} whether a server could listen there now
 */
export async function isPortFree(port, host) {
  return (await tryToListen(port, host)) !== undefined;
}

/**
 * @param {string} host
 * @param {readonly number[]} except ports that somebody is about to take
 * @returns {Promise<number>}
 */
export async function findFreePort(host, except = []) {
  const port = await tryToListen(0, host);
  if (port === undefined) throw new Error(`Every port of ${host} is in use.`);
  return except.includes(port) ? await findFreePort(host, except) : port;
}

/**
 * @param {number} port 0 = any
 * @param {string} host
 * @returns {Promise<number | undefined>}
 */
function tryToListen(port, host) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : undefined));
    });
  });
}
