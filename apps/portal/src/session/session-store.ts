import { accountOf, type Session, type SessionState } from './session';

// setTimeout takes no more; a session is shorter.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Holds the session in memory and nowhere else: a page that is loaded again has none. */
export class SessionStore {
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

  readonly read = (): SessionState => this.#state;

  /** The credentials of each request; undefined: there is no session. */
  readonly headers = (): Readonly<Record<string, string>> | undefined => {
    if (this.#state.kind !== 'active') return undefined;
    const { session, accountInView } = this.#state;
    return {
      authorization: `Bearer ${session.token}`,
      ...(accountInView !== undefined && { 'x-account-id': accountInView }),
    };
  };

  begin(session: Session): void {
    clearTimeout(this.#expiry);
    const leftMs = session.expiresAt.getTime() - new Date().getTime();
    this.#expiry = setTimeout(() => this.end(), Math.min(Math.max(leftMs, 0), LONGEST_TIMER_MS));
    this.#change({ kind: 'active', session });
  }

  /** It expired or was revoked, or there never was one; `error` says why another could not be had. */
  readonly end = (error?: Error): void => {
    clearTimeout(this.#expiry);
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
