import { t } from '@lingui/core/macro';
import type { Capability } from '../session/session';

export interface NavigationEntry {
  readonly path: string;
  readonly label: string;
  /** Without it there is no link to the page. */
  readonly needs?: Capability;
}

export const customerEntries: readonly NavigationEntry[] = [
  { path: '/overview', label: t`Overview` },
  { path: '/deliveries', label: t`Deliveries` },
  { path: '/webhooks', label: t`Webhooks` },
  { path: '/events', label: t`Events` },
  { path: '/event-types', label: t`Event types` },
  { path: '/contacts', label: t`Contacts` },
  { path: '/audit-log', label: t`Audit log`, needs: 'audit' },
];

/** For sessions that may `operate`. */
export const operatorEntries: readonly NavigationEntry[] = [
  { path: '/operations', label: t`Operations` },
  { path: '/accounts', label: t`Accounts` },
  { path: '/dead-letters', label: t`Dead letters` },
];
