import { t } from '@lingui/core/macro';
import { Banner } from '../components/banner';
import { entryUrl } from './portal-settings';
import { useSessionState, useSessionStore } from './session-context';

/** Says that the session is over, and where another one comes from. What is on the page stays. */
export function SessionBanner() {
  const state = useSessionState();
  const { settings } = useSessionStore();
  if (state.kind !== 'ended') return null;
  // The operator's page leads back to where the viewer is; that of the session may not.
  const href = entryUrl(settings, state.session.accountId) ?? state.session.returnUrl;
  return (
    <Banner>
      {t`Your session has ended: the page is no longer up to date.`}{' '}
      {href ? <a href={href}>{t`Open the portal again`}</a> : t`Open the portal again with a new link.`}
    </Banner>
  );
}
