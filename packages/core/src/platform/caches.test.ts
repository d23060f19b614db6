import { type CacheBound, createLoadOnce, ParsedCache } from './caches';

describe('parsed cache', () => {
  function buildCache(bound: CacheBound = { entries: 10 }) {
    const parsedTexts: string[] = [];
    const cache = new ParsedCache((raw) => {
      parsedTexts.push(raw);
      return { raw };
    }, bound);
    return { cache, parsedTexts };
  }

  describe('ParsedCache', () => {
    it('parses a text once for as long as it stays the same', () => {
      const { cache, parsedTexts } = buildCache();
      const first = cache.get('a', 'one');
      expect(cache.get('a', 'one')).toBe(first);
      expect(parsedTexts).toEqual(['one']);
    });

    it('parses again as soon as the text differs, and again if it turns back', () => {
      const { cache, parsedTexts } = buildCache();
      const texts = ['one', 'two', 'one'];
      expect(texts.map((text) => cache.get('a', text).raw)).toEqual(texts);
      expect(parsedTexts).toEqual(texts);
    });

    it('keeps the same text apart under different keys', () => {
      const { cache } = buildCache();
      expect(cache.get('a', 'one')).not.toBe(cache.get('b', 'one'));
    });

    it('forgets the oldest once it is full, used or not', () => {
      const { cache, parsedTexts } = buildCache({ entries: 2 });
      for (const key of ['a', 'b', 'a', 'c', 'b', 'a']) cache.get(key, key);
      expect(parsedTexts).toEqual(['a', 'b', 'c', 'a']);
    });

    it('forgets likewise when what it remembers is too long in all', () => {
      const { cache, parsedTexts } = buildCache({ bytes: 100_000 });
      const long = (letter: string) => letter.repeat(10_000);
      for (const key of ['a', 'b', 'a', 'c', 'b', 'a']) cache.get(key, long(key));
      expect(parsedTexts).toEqual(['a', 'b', 'c', 'a'].map(long));
    });

    it('remembers nothing of a text that is too long alone, and keeps the others', () => {
      const { cache, parsedTexts } = buildCache({ bytes: 10_000 });
      const tooLong = 'x'.repeat(10_000);
      for (const text of ['one', tooLong, tooLong, 'one'])
        expect(cache.get(text.slice(0, 3), text).raw).toBe(text);
      expect(parsedTexts).toEqual(['one', tooLong, tooLong]);
    });

    it('remembers nothing of a text that could not be parsed', () => {
      const cache = new ParsedCache<unknown>((raw) => JSON.parse(raw), { entries: 10 });
      expect(() => cache.get('a', '{')).toThrow(SyntaxError);
      expect(() => cache.get('a', '{')).toThrow(SyntaxError);
      expect(cache.get('a', '{}')).toEqual({});
    });
  });
});

describe('load once', () => {
  /** Loads that end when they are told to. */
  function build() {
    const loads: { readonly key: string; readonly version: string; end(error?: Error): void }[] = [];
    const loadOnce = createLoadOnce(
      (key: string, version: string) =>
        new Promise<string>((resolve, reject) => {
          const end = (error?: Error) => (error ? reject(error) : resolve(`${key} at ${version}`));
          loads.push({ key, version, end });
        }),
    );
    const asked = () => loads.map(({ key, version }) => `${key} ${version}`);
    return { loadOnce, loads, asked };
  }

  it('loads once for all who ask for the same version at the same time', async () => {
    const { loadOnce, loads, asked } = build();
    const answers = Array.from({ length: 32 }, () => loadOnce('a', '1'));
    loads[0]?.end();
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['a at 1']));
    expect(asked()).toEqual(['a 1']);
  });

  it('loads once more, and not before the first is done, for all who ask for later versions meanwhile', async () => {
    const { loadOnce, loads, asked } = build();
    const first = loadOnce('a', '1');
    const later = ['2', '3', '3', '4'].map((version) => loadOnce('a', version));
    expect(asked()).toEqual(['a 1']);
    loads[0]?.end();
    expect(await first).toBe('a at 1');
    const more = loadOnce('a', '4');
    await Promise.resolve();
    expect(asked()).toEqual(['a 1', 'a 4']);
    loads[1]?.end();
    expect(await Promise.all([...later, more])).toEqual(Array(5).fill('a at 4'));
    expect(asked()).toEqual(['a 1', 'a 4']);
  });

  it('loads again for callers after that', async () => {
    const { loadOnce, loads, asked } = build();
    const first = loadOnce('a', '1');
    loads[0]?.end();
    await first;
    const second = loadOnce('a', '1');
    loads[1]?.end();
    await second;
    expect(asked()).toEqual(['a 1', 'a 1']);
  });

  it('loads different keys at the same time', () => {
    const { loadOnce, asked } = build();
    void loadOnce('a', '1');
    void loadOnce('b', '1');
    expect(asked()).toEqual(['a 1', 'b 1']);
  });

  it('tells those of a failure who asked for what failed, and no others', async () => {
    const { loadOnce, loads } = build();
    const [first, second] = [loadOnce('a', '1'), loadOnce('a', '2')];
    loads[0]?.end(new Error('away'));
    await expect(first).rejects.toThrow('away');
    loads[1]?.end();
    expect(await second).toBe('a at 2');
  });
});
