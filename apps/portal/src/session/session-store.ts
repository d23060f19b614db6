import { NO_SETTINGS, type PortalSettings } from './portal-settings';
import { accountOf, type Session, type SessionState } from './session';

// setTimeout takes no more; a session is shorter.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** In the storage of the tab. */
const KEPT = 'hookferry-session';

/**
 * Holds the session: in memory and nowhere else, so that a page that is loaded again has none, unless the operator wants it
 * kept in the storage of its tab. In a frame the page around has another one at any time.
 */
export class SessionStore {
  #settings = NO_SETTINGS;
  #state: SessionState = { kind: 'starting' };
  #expiry: ReturnType<typeof setTimeout> | undefined;
  readonly #listeners = new Set<() => void>();

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Calls back when what is shown is another account's from now on. */
  onOtherAccount(listener: () => void): void {
    let former: string | undefined;
    this.subscribe(() => {
      const account = accountOf(this.#state);
      if (former !== undefined && account !== former) listener();
      former = account;
    });
  }

  get settings(): PortalSettings {
    return this.#settings;
  }

  configure(settings: PortalSettings): void {
    this.#settings = settings;
  }

  /** Goes on with the session that the tab has kept. @returns whether there is one. */
  resume(): boolean {
    if (window.parent !== window) return false;
    const session = keptSession({ staysKept: this.#keeps() });
    if (session) this.begin(session);
    return session !== undefined;
  }

  /** Just before the page loads itself again: the tab keeps the session until then. In a frame the page around has another one. */
  outliveReload(): void {
    if (this.#state.kind !== 'active' || window.parent !== window) return;
    try {
      window.sessionStorage.setItem(KEPT, JSON.stringify(this.#state.session));
    } catch {
      // A browser that stores nothing loses the session.
    }
  }

  #keeps(): boolean {
    return this.#settings.keepsSessions && window.parent === window;
  }

  readonly read = (): SessionState => this.#state;

  /** The credentials of each request; undefined: there is no session. */
  readonly headers = (): Readonly<Record<string, string>> | undefined => {
    if (this.#state.kind !== 'active') return undefined;
    const { session, accountInView } = this.#state;
    return {
      // untranslated: a header
      authorization: `Bearer ${session.token}`,
      ...(accountInView !== undefined && { 'x-account-id': accountInView }),
    };
  };

  begin(session: Session): void {
    clearTimeout(this.#expiry);
    const leftMs = session.expiresAt.getTime() - new Date().getTime();
    this.#expiry = setTimeout(() => this.end(), Math.min(Math.max(leftMs, 0), LONGEST_TIMER_MS));
    if (this.#keeps()) window.sessionStorage.setItem(KEPT, JSON.stringify(session));
    this.#change({ kind: 'active', session });
  }

  /** It expired or was revoked, or there never was one; `error` says why another could not be had. */
  readonly end = (error?: Error): void => {
    clearTimeout(this.#expiry);
    if (this.#keeps()) window.sessionStorage.removeItem(KEPT);
    const reason = error && { error };
    if (this.#state.kind === 'active' || this.#state.kind === 'ended') {
      const { session, accountInView } = this.#state;
      this.#change({ kind: 'ended', session, accountInView, ...reason });
    } else {
      this.#change({ kind: 'none', ...reason });
    }
  };

  /** For operators: everything that follows is asked for on behalf of this account; undefined: of their own. */
  viewAccount(accountId: string | undefined): void {
    if (this.#state.kind === 'active') this.#change({ ...this.#state, accountInView: accountId });
  }

  #change(state: SessionState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}

function keptSession({ staysKept }: { readonly staysKept: boolean }): Session | undefined {
  const text = keptText(staysKept);
  if (text === null) return undefined;
  const kept = JSON.parse(text) as Session;
  const session = { ...kept, expiresAt: new Date(kept.expiresAt) };
  return session.expiresAt > new Date() ? session : undefined;
}

function keptText(staysKept: boolean): string | null {
  try {
    const text = window.sessionStorage.getItem(KEPT);
    if (!staysKept) window.sessionStorage.removeItem(KEPT);
    return text;
  } catch {
    return null;
  }
}
