import { type CacheBound, ParsedCache } from './parsed-cache';

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

  it('parses anew as soon as the text differs, and again if it turns back', () => {
    const { cache, parsedTexts } = buildCache();
    const texts = ['one', 'two', 'one'];
    expect(texts.map((text) => cache.get('a', text).raw)).toEqual(texts);
    expect(parsedTexts).toEqual(texts);
  });

  it('keeps the same text apart under different keys', () => {
    const { cache } = buildCache();
    expect(cache.get('a', 'one')).not.toBe(cache.get('b', 'one'));
  });

  it('forgets what was not used for longest once it is full', () => {
    const { cache, parsedTexts } = buildCache({ entries: 2 });
    for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) cache.get(key, key);
    expect(parsedTexts).toEqual(['a', 'b', 'c', 'b']);
  });

  it('forgets likewise when what it remembers is too long in all', () => {
    const { cache, parsedTexts } = buildCache({ bytes: 100_000 });
    const long = (letter: string) => letter.repeat(10_000);
    for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) cache.get(key, long(key));
    expect(parsedTexts).toEqual(['a', 'b', 'c', 'b'].map(long));
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
