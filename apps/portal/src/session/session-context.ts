import { createContext, useContext, useSyncExternalStore } from 'react';
import type { Capability, Session, SessionState } from './session';
import type { SessionStore } from './session-store';

export const SessionContext = createContext<SessionStore | undefined>(undefined);

export function useSessionStore(): SessionStore {
  const store = useContext(SessionContext);
  if (!store) throw new Error('useSessionStore outside of SessionContext');
  return store;
}

export function useSessionState(): SessionState {
  const store = useSessionStore();
  return useSyncExternalStore(store.subscribe, store.read);
}

/** The viewer's session, which every component below the sign-in has. It may have ended. */
export function useSession(): Session {
  const state = useSessionState();
  if (state.kind === 'active' || state.kind === 'ended') return state.session;
  throw new Error('useSession without a session');
}

/** True if the session has the capability. Pages hide other actions. */
export function useCan(capability: Capability): boolean {
  return useSession().capabilities.includes(capability);
}
