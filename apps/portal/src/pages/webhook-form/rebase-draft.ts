import type { Draft, Pair } from './draft';

/** Puts the changes between `before` and a draft onto the webhook as it is `now`. */
export function rebaseDraft(draft: Draft, before: Draft, now: Draft): Draft {
  const own = Object.fromEntries(
    Object.entries(draft).filter(([name, value]) => !isSame(value, before[name as keyof Draft])),
  );
  return {
    ...now,
    ...own,
    headers: rebasePairs(draft.headers, before.headers, now.headers),
    metadata: rebasePairs(draft.metadata, before.metadata, now.metadata),
  };
}

function rebasePairs(draft: readonly Pair[], before: readonly Pair[], now: readonly Pair[]): readonly Pair[] {
  const [own, former, values] = [valuesOf(draft), valuesOf(before), valuesOf(now)];
  for (const name of former.keys()) if (!own.has(name)) values.delete(name);
  for (const [name, value] of own) if (former.get(name) !== value) values.set(name, value);
  return [...values].map(([name, value], key) => ({ key, name, value }));
}

const valuesOf = (pairs: readonly Pair[]) => new Map(pairs.map(({ name, value }) => [name, value]));

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
