import { Empty } from '../../components/empty';

export function DeliveriesPage() {
  return <Empty title="Deliveries" />;
}
