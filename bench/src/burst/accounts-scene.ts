import type { Batch } from '../traffic/sender';
import { type Facts, type Scene, secondsSince } from './scene';
import { addAccount, publishAll, type World } from './world';

export interface AccountsOptions {
  readonly accounts: number;
  readonly eventsEach: number;
  readonly limitSeconds: number;
}

/** A batch of each of many accounts, all at once. */
export function accountsScene({ accounts, eventsEach, limitSeconds }: AccountsOptions): Scene {
  const names = Array.from({ length: accounts }, (_, i) => `account-${i}`);
  return {
    name: `${accounts} accounts with ${eventsEach} events each, at once`,

    async prepare(world) {
      const batches: Batch[] = [];
      for (const name of names) {
        const { target } = await addAccount(world, name, world.receiver.urlOf('ok', name));
        batches.push({ target, firstEvent: 0, events: eventsEach });
      }
      return async () => {
        const startedAt = performance.now();
        await publishAll(world, batches);
        const publishedInS = secondsSince(startedAt);
        await waitForAll(world, names, eventsEach, startedAt + limitSeconds * 1_000);
        const takenInS = secondsSince(startedAt);
        return { published_in_s: publishedInS, drained_in_s: takenInS, ...(await fairnessOf(world, names)) };
      };
    },
  };
}

async function waitForAll(
  world: World,
  names: readonly string[],
  each: number,
  until: number,
): Promise<void> {
  for (const name of names) await world.receiver.waitFor(name, each, Math.max(until - performance.now(), 0));
}

/** How alike the accounts' shares of the first half of all deliveries are. */
async function fairnessOf({ receiver }: World, names: readonly string[]): Promise<Facts> {
  const all: { readonly name: string; readonly at: number }[] = [];
  for (const name of names) all.push(...(await receiver.list(name)).at.map((at) => ({ name, at })));
  const firstHalf = all.sort((a, b) => a.at - b.at).slice(0, Math.floor(all.length / 2));
  const shares = new Map(names.map((name) => [name, 0]));
  for (const { name } of firstHalf) shares.set(name, (shares.get(name) ?? 0) + 1);
  return { received: all.length, jain_first_half: jainIndex([...shares.values()]) };
}

/** 1 when all have the same, 1/n when one of n has all (Jain, Chiu and Hawe 1984). */
function jainIndex(shares: readonly number[]): number {
  const sum = shares.reduce((total, share) => total + share, 0);
  const squares = shares.reduce((total, share) => total + share * share, 0);
  return (sum * sum) / (shares.length * squares);
}
