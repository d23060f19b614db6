import { cacheNames } from './cache-names';
import { UnresolvedNameError } from './egress-errors';
import type { ResolvedAddress, ResolveName } from './resolve-name';

function lasting(...ttls: number[]): readonly ResolvedAddress[] {
  return ttls.map((ttlSeconds, i) => ({ address: `192.0.2.${i + 1}`, family: 4, ttlSeconds }));
}

/** A cache over a resolver that counts what it is asked, on a clock of its own. */
function arrange(resolve: ResolveName) {
  let now = 0;
  const asked: string[] = [];
  const resolveName = cacheNames(
    async (name) => {
      asked.push(name);
      return await resolve(name);
    },
    () => now,
  );
  return {
    asked,
    resolveName,
    wait(ms: number) {
      now += ms;
    },
  };
}

describe('cacheNames', () => {
  it.each([
    ['as long as its record says', [60], 60_000],
    ['as long as the shortest of its records says', [60, 20, 40], 20_000],
    ['five minutes at most', [86_400], 300_000],
  ])('keeps an answer %s', async (_how, ttls, keptMs) => {
    const { resolveName, asked, wait } = arrange(async () => lasting(...ttls));
    const first = await resolveName('a.example');
    wait(keptMs - 1);
    expect(await resolveName('a.example')).toEqual(first);
    expect(asked).toHaveLength(1);
    wait(1);
    await resolveName('a.example');
    expect(asked).toHaveLength(2);
  });

  it('keeps no answer whose record is to be used once', async () => {
    const { resolveName, asked } = arrange(async () => lasting(0));
    await resolveName('a.example');
    await resolveName('a.example');
    expect(asked).toHaveLength(2);
  });

  it('keeps a failure for half a minute, then asks again', async () => {
    let isUp = false;
    const { resolveName, asked, wait } = arrange(async (name) => {
      if (!isUp) throw new UnresolvedNameError(name, 'ESERVFAIL');
      return lasting(60);
    });
    const failure = { code: 'ERR_UNRESOLVED_NAME', message: 'a.example could not be resolved (ESERVFAIL).' };
    await expect(resolveName('a.example')).rejects.toMatchObject(failure);
    isUp = true;
    wait(29_999);
    await expect(resolveName('a.example')).rejects.toMatchObject(failure);
    expect(asked).toHaveLength(1);
    wait(1);
    expect(await resolveName('a.example')).toEqual(lasting(60));
  });

  it('asks once for all who wait for the same answer', async () => {
    const { resolveName, asked } = arrange(async () => lasting(0));
    await Promise.all([resolveName('a.example'), resolveName('a.example'), resolveName('b.example')]);
    expect(asked).toEqual(['a.example', 'b.example']);
  });

  it('lets all who wait for the same answer fail together', async () => {
    const { resolveName, asked } = arrange((name) =>
      Promise.reject(new UnresolvedNameError(name, 'ENOTFOUND')),
    );
    const results = await Promise.allSettled([resolveName('a.example'), resolveName('a.example')]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(asked).toHaveLength(1);
  });
});
