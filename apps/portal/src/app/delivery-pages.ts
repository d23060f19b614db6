import { page } from './page';

export const deliveryPages = [
  page('/overview', async () => (await import('../pages/overview/overview-page')).OverviewPage),
  page('/deliveries', async () => (await import('../pages/deliveries/deliveries-page')).DeliveriesPage),
  page('/deliveries/:id', async () => (await import('../pages/delivery/delivery-page')).DeliveryPage),
  page('/outcomes/:outcome', async () => (await import('../pages/outcomes/outcomes-page')).OutcomesPage),
];
