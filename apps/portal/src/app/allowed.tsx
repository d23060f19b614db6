import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { PageHeader } from '../components/page-header';
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
    <>
      <PageHeader title="Your link does not allow this" />
      <p>Ask the person who gave it to you for a link that does.</p>
      <p>
        <Link href={location.slice(0, location.lastIndexOf('/'))}>Back</Link>
      </p>
    </>
  );
}
