import type { Contact } from '../domain/contact';
import { uniqueAccountId, uniqueContactId } from './unique-ids';

/** A confirmed contact by mail, in an account of its own unless `change` names one. */
export function buildContact(change: Partial<Contact> = {}): Contact {
  return {
    id: uniqueContactId(),
    accountId: uniqueAccountId(),
    kind: 'email',
    target: 'ops@example.com',
    secret: 'secret of links',
    status: 'confirmed',
    createdAt: 1_700_000_000_000,
    updatedAt: 1_700_000_000_000,
    ...change,
  };
}
