import { QueryClientProvider } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { Router } from 'wouter';
import { ApiContext } from '../../api/api-context';
import { createApi } from '../../api/client';
import { createQueryClient } from '../../api/query-client';
import { useSessionStore } from '../../session/session-context';

interface OfAccountProps {
  readonly id: string;
  readonly children: ReactNode;
}

/** What is below is read for this account, whichever is in view. A page that it leads to is seen as that account sees it. */
export function OfAccount({ id, children }: OfAccountProps) {
  const session = useSessionStore();
  const [{ api, queries }] = useState(() => ({
    api: createApi({
      headers: () => {
        const own = session.headers();
        return own && { ...own, 'x-account-id': id };
      },
      onUnauthenticated: () => session.end(),
    }),
    // Nothing of one account may be seen in another's pages.
    queries: createQueryClient(),
  }));
  useEffect(() => () => queries.clear(), [queries]);
  return (
    <ApiContext value={api}>
      <QueryClientProvider client={queries}>
        <Router
          aroundNav={(navigate, to, options) => {
            const { pathname } = new URL(to, window.location.href);
            if (pathname !== window.location.pathname) session.viewAccount(id);
            navigate(to, options);
          }}
        >
          {children}
        </Router>
      </QueryClientProvider>
    </ApiContext>
  );
}
