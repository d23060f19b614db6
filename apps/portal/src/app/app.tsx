import { CSPProvider } from '@base-ui/react/csp-provider';
import { DirectionProvider } from '@base-ui/react/direction-provider';
import { I18nProvider } from '@lingui/react';
import { type QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { Router } from 'wouter';
import { ApiContext } from '../api/api-context';
import type { Api } from '../api/client';
import { DraftsProvider } from '../components/drafts';
import { WayIn } from '../components/problem';
import { ToastProvider } from '../components/toasts';
import { direction, i18n } from '../language/language';
import type { LiveFeed } from '../live/live-feed';
import { LiveProvider } from '../live/live-provider';
import type { Frame } from '../session/frame';
import { FrameContext } from '../session/frame-context';
import { entryUrl } from '../session/portal-settings';
import { accountOf } from '../session/session';
import { SessionContext, useSessionState } from '../session/session-context';
import type { SessionStore } from '../session/session-store';
import type { SignIn } from '../session/sign-in';
import { SignInPage } from '../session/sign-in-page';
import { Routes, SigningIn } from './routes';
import { Shell } from './shell';

export interface AppProps {
  readonly frame: Frame;
  readonly session: SessionStore;
  readonly signIn: SignIn;
  readonly api: Api;
  readonly queries: QueryClient;
  readonly feed: LiveFeed;
}

export function App({ frame, session, signIn, api, queries, feed }: AppProps) {
  return (
    <I18nProvider i18n={i18n}>
      <CSPProvider disableStyleElements>
        <DirectionProvider direction={direction}>
          <FrameContext value={frame}>
            <SessionContext value={session}>
              <WayIn value={() => entryUrl(session.settings)}>
                <ApiContext value={api}>
                  <QueryClientProvider client={queries}>
                    <LiveProvider feed={feed}>
                      <ToastProvider>
                        <Router base="/portal">
                          <SignedIn signIn={signIn} />
                        </Router>
                      </ToastProvider>
                    </LiveProvider>
                  </QueryClientProvider>
                </ApiContext>
              </WayIn>
            </SessionContext>
          </FrameContext>
        </DirectionProvider>
      </CSPProvider>
    </I18nProvider>
  );
}

function SignedIn({ signIn }: Pick<AppProps, 'signIn'>) {
  const state = useSessionState();

  if (state.kind === 'starting') return <SigningIn />;
  if (state.kind === 'none') return <SignInPage signIn={signIn} error={state.error} />;
  return (
    <Shell>
      <DraftsProvider key={accountOf(state)}>
        <Routes />
      </DraftsProvider>
    </Shell>
  );
}
