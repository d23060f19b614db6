import type { Capability } from '../session/session';

export interface NavigationEntry {
  readonly path: string;
  readonly label: string;
  /** Without it there is no link to the page. */
  readonly needs?: Capability;
}

export const customerEntries: readonly NavigationEntry[] = [
  { path: '/overview', label: 'Overview' },
  { path: '/deliveries', label: 'Deliveries' },
  { path: '/webhooks', label: 'Webhooks' },
  { path: '/events', label: 'Events' },
  { path: '/event-types', label: 'Event types' },
  { path: '/contacts', label: 'Contacts' },
  { path: '/audit-log', label: 'Audit log', needs: 'audit' },
];

/** For sessions that may `operate`. */
export const operatorEntries: readonly NavigationEntry[] = [
  { path: '/operations', label: 'Operations' },
  { path: '/accounts', label: 'Accounts' },
  { path: '/dead-letters', label: 'Dead letters' },
];
