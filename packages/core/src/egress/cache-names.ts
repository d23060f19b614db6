import { createLru } from '../kernel/lru';
import type { ResolvedAddress, ResolveName } from './resolve-name';

const CACHED_NAMES = 10_000;
// However long a record says that it lives, a receiver that moved is found after this.
const MAX_TTL_SECONDS = 300;
const FAILURE_TTL_SECONDS = 30;

type Answer =
  | { readonly kind: 'found'; readonly addresses: readonly ResolvedAddress[] }
  | { readonly kind: 'failed'; readonly error: unknown };

interface Entry {
  readonly answer: Answer;
  /** As `now` gives it. */
  readonly expiresAt: number;
}

/**
 * Keeps a name's addresses as long as their DNS records say, five minutes at most, and a failure for half a minute.
 * Whoever asks while the answer is under way gets the same one.
 *
 * @param now milliseconds by a clock that never jumps, such as `steadyClock`.
 */
export function cacheNames(resolveName: ResolveName, now: () => number): ResolveName {
  const entries = createLru<string, Entry>(CACHED_NAMES);
  const underWay = new Map<string, Promise<Answer>>();

  return async (name) => {
    const answer = answerKept(name) ?? (await (underWay.get(name) ?? ask(name)));
    if (answer.kind === 'failed') throw answer.error;
    return answer.addresses;
  };

  function answerKept(name: string): Answer | undefined {
    const entry = entries.get(name);
    return entry && now() < entry.expiresAt ? entry.answer : undefined;
  }

  function ask(name: string): Promise<Answer> {
    const asked = settle(resolveName(name)).then((answer) => {
      underWay.delete(name);
      entries.set(name, { answer, expiresAt: now() + ttlSecondsOf(answer) * 1_000 });
      return answer;
    });
    underWay.set(name, asked);
    return asked;
  }
}

async function settle(resolved: ReturnType<ResolveName>): Promise<Answer> {
  try {
    return { kind: 'found', addresses: await resolved };
  } catch (error) {
    return { kind: 'failed', error };
  }
}

function ttlSecondsOf(answer: Answer): number {
  if (answer.kind === 'failed') return FAILURE_TTL_SECONDS;
  return Math.min(MAX_TTL_SECONDS, ...answer.addresses.map(({ ttlSeconds }) => ttlSeconds));
}
