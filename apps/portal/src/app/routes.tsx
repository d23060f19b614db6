import { Suspense } from 'react';
import { Redirect, Route, Switch } from 'wouter';
import { Empty } from '../components/empty';
import { Skeleton } from '../components/skeleton';
import { useCan } from '../session/session-context';
import { Allowed } from './allowed';
import { deliveryPages } from './delivery-pages';
import { operatorPages } from './operator-pages';
import type { Page } from './page';
import { webhookPages } from './webhook-pages';

const customerPages: readonly Page[] = [...deliveryPages, ...webhookPages];

export function Routes() {
  const pages = useCan('operate') ? [...customerPages, ...operatorPages] : customerPages;
  return (
    <Suspense fallback={<Skeleton lines={8} />}>
      <Switch>
        <Route path="/">
          <Redirect to="/overview" replace />
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
          <Empty title="There is no such page">
            <p>It may be one that this session may not see.</p>
          </Empty>
        </Route>
      </Switch>
    </Suspense>
  );
}

function textsOf(params: Readonly<Record<string | number, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(params).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
