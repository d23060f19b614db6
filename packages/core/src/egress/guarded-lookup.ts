import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { UnresolvedNameError } from './egress-errors';
import type { JudgeTarget } from './judge-target';
import type { ResolvedAddress, ResolveName } from './resolve-name';

/**
 * A `lookup` for sockets that gives a name's addresses only if every one of them may be reached: a name with one
 * good and one bad address is bad. They are judged each time, whether the answer is new or was kept.
 */
export function createGuardedLookup(resolveName: ResolveName, judgeTarget: JudgeTarget): LookupFunction {
  const find = callbackify(findAllowed);

  return (name, options, callback) =>
    find(name, Number(options.family ?? 0), (error, addresses) => {
      const [first] = addresses ?? [];
      if (!first) callback(error, []);
      // Node asks for all of them, to try IPv6 and IPv4 side by side.
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });

  /** At least one. */
  async function findAllowed(name: string, family: number) {
    const resolved = await resolveName(name);
    for (const { address } of resolved) {
      const blocked = judgeTarget(name, address);
      if (blocked) throw blocked;
    }
    const wished = resolved.filter((found) => family === 0 || found.family === family);
    if (wished.length === 0) throw new UnresolvedNameError(name, 'ENODATA');
    return wished.map(toLookupAddress);
  }
}

function toLookupAddress({ address, family }: ResolvedAddress) {
  return { address, family };
}
