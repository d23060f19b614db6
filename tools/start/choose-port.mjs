// @ts-check
import { Problem } from '../problem.mjs';
import { findFreePort, isPortFree } from '../processes/free-port.mjs';
import { say } from '../say.mjs';

/**
 * The port that the user has set (0 = any free one), or else the usual one, or else a free one.
 * @param {NodeJS.ProcessEnv} env
 * @param {object} options
 * @param {string} options.who what listens there, for the message
 * @param {string} options.variable
 * @param {number} options.usual
 * @param {string} options.host
 * @param {readonly number[]} [options.except] ports that are promised to others
 * @returns {Promise<number>}
 */
export async function choosePort(env, { who, variable, usual, host, except = [] }) {
  const given = env[variable];
  if (given === '0') return await findFreePort(host, except);
  const wanted = given ? Number(given) : usual;
  if (!Number.isInteger(wanted) || wanted < 0 || wanted > 65_535) {
    throw new Problem(`${variable} is '${given}', which is no port.`);
  }
  if (!except.includes(wanted) && (await isPortFree(wanted, host))) return wanted;
  if (given) throw new Problem(`${variable} is ${given}, and that port of ${host} is taken.`);

  const port = await findFreePort(host, except);
  say('start', `port ${usual} is taken: the ${who} listens on ${port}`);
  return port;
}
