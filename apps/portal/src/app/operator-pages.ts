import { page } from './page';

/** For sessions that may `operate`. */
export const operatorPages = [
  page('/operations', async () => (await import('../pages/operations/operations-page')).OperationsPage),
  page('/accounts', async () => (await import('../pages/accounts/accounts-page')).AccountsPage),
  page('/accounts/:id', async () => (await import('../pages/account/account-page')).AccountPage),
  page(
    '/dead-letters',
    async () => (await import('../pages/dead-letters/dead-letters-page')).DeadLettersPage,
  ),
  page(
    '/dead-letters/:id',
    async () => (await import('../pages/dead-letter/dead-letter-page')).DeadLetterPage,
  ),
];
