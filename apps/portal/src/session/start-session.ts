import { Frame } from './frame';
import { readPortalSettings } from './portal-settings';
import type { Session } from './session';
import type { SessionStore } from './session-store';
import { codeOf, type SignIn } from './sign-in';

/**
 * Takes the code out of the address and signs in with it. Where there is none, or when the session ends, the page around
 * this one is asked for another.
 */
export async function startSession(store: SessionStore, signIn: SignIn): Promise<void> {
  const code = takeCode();
  // Neither waits for the other.
  const opening = code === undefined ? undefined : open(signIn, code);
  const settings = await readPortalSettings();
  store.configure(settings);
  const frame = new Frame(window.parent === window ? [] : settings.frameAncestors);
  const begin = (opened: Session | Error) =>
    opened instanceof Error ? store.end(opened) : store.begin(opened);

  frame.onCode((given) => void open(signIn, given).then(begin));
  let wasNeeded = false;
  store.subscribe(() => {
    const { kind } = store.read();
    const isNeeded = kind === 'none' || kind === 'ended';
    if (isNeeded && !wasNeeded) frame.askForSession();
    wasNeeded = isNeeded;
  });

  if (opening) begin(await opening);
  else if (!store.resume()) store.end();
}

function open(signIn: SignIn, code: string): Promise<Session | Error> {
  return signIn
    .byCode(code)
    .catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
}

/** A code in the address would stay in the history, and be sent along when the address is shared. */
function takeCode(): string | undefined {
  const { hash, pathname, search } = window.location;
  const code = codeOf(hash);
  if (code !== undefined) window.history.replaceState(window.history.state, '', `${pathname}${search}`);
  return code;
}
