import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { Empty } from '../components/empty';
import type { Capability } from '../session/session';
import { useSession } from '../session/session-context';

interface AllowedProps {
  readonly needs: Capability | undefined;
  readonly children: ReactNode;
}

/** A page for those who may use it; the others are told before they have filled anything in. */
export function Allowed({ needs, children }: AllowedProps) {
  const { capabilities } = useSession();
  const [location] = useLocation();
  if (needs === undefined || capabilities.includes(needs)) return children;
  return (
    <Empty title="Your link does not let you do this">
      <p>Ask whoever gave it to you for one that does.</p>
      <p>
        <Link href={location.slice(0, location.lastIndexOf('/'))}>Back</Link>
      </p>
    </Empty>
  );
}
