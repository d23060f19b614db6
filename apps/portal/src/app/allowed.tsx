import { t } from '@lingui/core/macro';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { PageHeader } from '../pages/page-header';
import type { Capability } from '../session/session';
import { useSession } from '../session/session-context';

interface AllowedProps {
  readonly needs: Capability | undefined;
  readonly children: ReactNode;
}

/** Shows a page only with its capability. Otherwise it says so before anybody fills in a form. */
export function Allowed({ needs, children }: AllowedProps) {
  const { capabilities } = useSession();
  const [location] = useLocation();
  if (needs === undefined || capabilities.includes(needs)) return children;
  return (
    <>
      <PageHeader title={t`Your link does not allow this`} />
      <p>{t`Ask the person who gave it to you for a link that does.`}</p>
      <p>
        <Link href={location.slice(0, location.lastIndexOf('/'))}>{t`Back`}</Link>
      </p>
    </>
  );
}
