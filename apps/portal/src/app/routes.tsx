import { t } from '@lingui/core/macro';
import { Suspense, useEffect, useEffectEvent } from 'react';
import { Link, matchRoute, Redirect, Route, Switch, useLocation, useRouter } from 'wouter';
import { loadModal } from '../components/modal';
import { Skeleton } from '../components/skeleton';
import { loadTip } from '../components/tip';
import { PageHeader } from '../pages/page-header';
import { useCan } from '../session/session-context';
import { Allowed } from './allowed';
import { deliveryPages } from './delivery-pages';
import { operatorPages } from './operator-pages';
import type { Page } from './page';
import { webhookPages } from './webhook-pages';

const AHEAD_AFTER_MS = 2_000;

const FIRST_PAGE = '/overview';

const customerPages: readonly Page[] = [...deliveryPages, ...webhookPages];

export function Routes() {
  const pages = useCan('operate') ? [...customerPages, ...operatorPages] : customerPages;
  useLoadedAhead(pages);
  return (
    <Suspense fallback={<Skeleton lines={8} />}>
      <Switch>
        <Route path="/">
          <Redirect to={FIRST_PAGE} replace />
        </Route>
        {pages.map(({ path, needs, component: Component }) => (
          <Route key={path} path={path}>
            {(params) => (
              <Allowed needs={needs}>
                <Component params={textsOf(params)} />
              </Allowed>
            )}
          </Route>
        ))}
        <Route>
          <PageHeader title={t`There is no such page`} />
          <p>{t`The address may be mistyped, or your link does not allow this page.`}</p>
          <p>
            <Link href="/overview">{t`To the overview`}</Link>
          </p>
        </Route>
      </Switch>
    </Suspense>
  );
}

/** Loads the code of the page at this address while somebody signs in. */
export function SigningIn() {
  const [location] = useLocation();
  const { parser } = useRouter();
  const loadPage = useEffectEvent(async () => {
    const path = location === '/' ? FIRST_PAGE : location;
    const page = [...customerPages, ...operatorPages].find((one) => matchRoute(parser, one.path, path)[0]);
    // The page itself says that it could not be loaded.
    await page?.load().catch(() => undefined);
  });
  useEffect(() => void loadPage(), []);
  return <Skeleton lines={8} />;
}

/**
 * Loads the code of all pages once the first one stands: somebody may go to another one while the service is away, and what
 * a browser once failed to import it never asks for again.
 */
function useLoadedAhead(pages: readonly Page[]): void {
  const loadAll = useEffectEvent(async () => {
    for (const load of [loadModal, loadTip, ...pages.map((page) => page.load)])
      await load().catch(() => undefined);
  });
  useEffect(() => {
    const timer = setTimeout(() => void loadAll(), AHEAD_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
}

function textsOf(params: Readonly<Record<string | number, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(params).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
