import type { components } from '@hookferry/client';

export type Capability = components['schemas']['Capability'];
export type SessionTheme = components['schemas']['PortalTheme'];

export interface Session {
  readonly id: string;
  readonly token: string;
  readonly accountId: string;
  readonly capabilities: readonly Capability[];
  readonly expiresAt: Date;
  /** The page that the viewer came from; http or https. */
  readonly returnUrl: string | undefined;
  readonly theme: SessionTheme;
}

/**
 * starting → none | active → ended, and back to active by another code.
 * `ended` keeps the session: what is on the page stays there, and says where the next one comes from.
 */
export type SessionState =
  | { readonly kind: 'starting' }
  | { readonly kind: 'none'; readonly error?: Error }
  | { readonly kind: 'active'; readonly session: Session; readonly accountInView?: string | undefined }
  | {
      readonly kind: 'ended';
      readonly session: Session;
      readonly accountInView?: string | undefined;
      readonly error?: Error;
    };

/** Whose things are shown; undefined without a session. */
export function accountOf(state: SessionState): string | undefined {
  return 'session' in state ? (state.accountInView ?? state.session.accountId) : undefined;
}
