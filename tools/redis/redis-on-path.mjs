// @ts-check
import { findOnPath } from '../setup/find-on-path.mjs';
import { inspectRedisProgram } from './redis-program.mjs';

/** @import { RedisSource } from './provide-redis.mjs' */

const NAMES = ['redis-server', 'valkey-server'];

/** The Redis that is installed on this machine. @type {RedisSource} */
export async function findInstalledRedis() {
  const paths = NAMES.map(findOnPath).filter((path) => path !== undefined);
  const refusals = [];
  for (const path of paths) {
    const found = await inspectRedisProgram(path);
    if ('program' in found) return found;
    refusals.push(found.refusal);
  }
  return { refusal: refusals.join('; ') || `no ${NAMES.join(' or ')} on the PATH` };
}
