import { Empty } from '../../components/empty';

export function DeliveryPage() {
  return <Empty title="Delivery" />;
}
