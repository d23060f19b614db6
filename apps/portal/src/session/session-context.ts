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

/** The session of whoever looks at a page, which there always is below the sign-in; it may have ended. */
export function useSession(): Session {
  const state = useSessionState();
  if (state.kind === 'active' || state.kind === 'ended') return state.session;
  throw new Error('useSession without a session');
}

/** Whether this session may do it: what it may not is not offered. */
export function useCan(capability: Capability): boolean {
  return useSession().capabilities.includes(capability);
}
