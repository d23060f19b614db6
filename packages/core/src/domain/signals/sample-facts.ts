import type { AccountId } from '../account';
import type { NotificationId } from '../contact';
import type { DeliveryId } from '../delivery';
import type { EndpointId } from '../endpoint';
import type { EventId } from '../event';
import type { ReplayId } from '../replay';

// For the samples of signals.
export const accountId = 'acct_01m7yzmhg05wb981pry4de' as AccountId;
export const eventId = 'evt_01m7yzmhg05wb981q4jj8r' as EventId;
export const endpointId = 'wh_01m7yzmhg05wb981qkhr9k' as EndpointId;
export const deliveryId = `${eventId}.${endpointId}` as DeliveryId;
export const replayId = 'rpl_01m7yzmhg05wb981qyv9wp' as ReplayId;
export const notificationId = 'ntf_01m7yzmhg05wb981rdns9a' as NotificationId;
export const type = 'order.created';
export const error = new Error('no luck');
