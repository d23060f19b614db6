import { setImmediate } from 'node:timers/promises';
import { atEndOfTurn, GatheredWork } from './end-of-turn';

describe('the end of a turn', () => {
  it('comes after all that the turn does, and includes what is added meanwhile', async () => {
    const calls: string[] = [];
    atEndOfTurn(() => {
      calls.push('one');
      atEndOfTurn(() => calls.push('added'));
    });
    atEndOfTurn(() => calls.push('two'));
    await Promise.resolve();
    expect(calls).toEqual([]);
    await setImmediate();
    expect(calls).toEqual(['one', 'two', 'added']);
  });
});

describe('gathered work', () => {
  function arrange(mostTogether = 10) {
    const gathered = new GatheredWork<string>(mostTogether);
    const groups: (readonly string[])[] = [];
    const work = async (items: readonly string[]) => {
      groups.push(items);
      if (items.includes('bad')) throw new Error('bad');
    };
    const add = (name: string, item: string, size = 1) => gathered.add(name, item, size, work);
    return { add, groups };
  }

  it('is done together for what comes in one turn under one name', async () => {
    const { add, groups } = arrange();
    await Promise.all([add('a', 'a1'), add('b', 'b1'), add('a', 'a2')]);
    expect(groups).toEqual([['a1', 'a2'], ['b1']]);
    await add('a', 'a3');
    expect(groups).toEqual([['a1', 'a2'], ['b1'], ['a3']]);
  });

  it('is done in parts, in the order of its arrival, where it would be too much', async () => {
    const { add, groups } = arrange(10);
    await Promise.all([add('a', '6', 6), add('a', '4', 4), add('a', '11', 11), add('a', '1', 1)]);
    expect(groups).toEqual([['6', '4'], ['11'], ['1']]);
  });

  it('fails for all of a group, and for nobody else', async () => {
    const { add } = arrange();
    const results = await Promise.allSettled([add('a', 'good'), add('a', 'bad'), add('b', 'good')]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
  });
});
