import { Frame } from './frame';
import type { SessionStore } from './session-store';
import { codeOf, type SignIn } from './sign-in';

const SETTINGS = '/portal/settings.json';

/**
 * Takes the code out of the address and signs in with it. Where there is none, or when the session ends, the page around
 * this one is asked for another.
 */
export async function startSession(store: SessionStore, signIn: SignIn): Promise<void> {
  const code = takeCode();
  const frame = new Frame(window.parent === window ? [] : await readFrameAncestors());

  const begin = async (given: string) => {
    await signIn.byCode(given).then(
      (session) => store.begin(session),
      (error: unknown) => store.end(error instanceof Error ? error : new Error(String(error))),
    );
  };
  frame.onCode((given) => void begin(given));
  let wasNeeded = false;
  store.subscribe(() => {
    const { kind } = store.read();
    const isNeeded = kind === 'none' || kind === 'ended';
    if (isNeeded && !wasNeeded) frame.askForSession();
    wasNeeded = isNeeded;
  });

  if (code === undefined) store.end();
  else await begin(code);
}

/** A code in the address would stay in the history, and be sent along when the address is shared. */
function takeCode(): string | undefined {
  const { hash, pathname, search } = window.location;
  const code = codeOf(hash);
  if (code !== undefined) window.history.replaceState(window.history.state, '', `${pathname}${search}`);
  return code;
}

async function readFrameAncestors(): Promise<readonly string[]> {
  const response = await fetch(SETTINGS).catch(() => undefined);
  if (!response?.ok) return [];
  const { frame_ancestors: origins } = (await response.json()) as { readonly frame_ancestors?: unknown };
  return Array.isArray(origins) ? origins.filter((origin) => typeof origin === 'string') : [];
}
