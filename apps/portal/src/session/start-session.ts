import { navigate } from 'wouter/use-browser-location';
import { ProblemError } from '../api/problem';
import { giveLanguage } from '../language/language';
import type { Frame } from './frame';
import { readPortalSettings } from './portal-settings';
import type { Session } from './session';
import type { SessionStore } from './session-store';
import { codeOf, type SignIn } from './sign-in';

/**
 * Takes the code out of the address and signs in with it. Where there is none, or when the session ends, the page around
 * this one is asked for another.
 */
export async function startSession(store: SessionStore, signIn: SignIn, frame: Frame): Promise<void> {
  const code = takeCode();
  // Neither waits for the other.
  const opening = code === undefined ? undefined : open(signIn, code);
  const settings = await readPortalSettings();
  store.configure(settings);
  const begin = (opened: Session | Error) =>
    opened instanceof Error ? store.end(opened) : store.begin(opened);

  frame.connect(settings.frameAncestors, {
    code: (given) => void open(signIn, given).then(begin),
    path: (path) => navigate(`/portal${path}`),
    language: giveLanguage,
  });
  let wasNeeded = false;
  store.subscribe(() => {
    const state = store.read();
    const isNeeded = state.kind === 'none' || state.kind === 'ended';
    if (isNeeded && state.error) frame.tell({ type: 'hookferry:failed', ...reasonOf(state.error) });
    if (isNeeded && !wasNeeded) frame.tell({ type: 'hookferry:session-needed' });
    wasNeeded = isNeeded;
  });

  // A link that is opened in this tab, on this page, loads nothing.
  window.addEventListener('hashchange', () => {
    const next = takeCode();
    if (next !== undefined) void open(signIn, next).then(begin);
  });

  if (opening) begin(await opening);
  else if (!store.resume()) store.end();
}

function open(signIn: SignIn, code: string): Promise<Session | Error> {
  return signIn
    .byCode(code)
    .catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
}

function reasonOf(error: Error): { readonly code: string; readonly detail: string } {
  return { code: error instanceof ProblemError ? error.code : 'unknown', detail: error.message };
}

/** A code in the address would stay in the history, and be sent along when the address is shared. */
function takeCode(): string | undefined {
  const { hash, pathname, search } = window.location;
  const code = codeOf(hash);
  if (code !== undefined) window.history.replaceState(window.history.state, '', `${pathname}${search}`);
  return code;
}
