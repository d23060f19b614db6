import type { EndpointId } from '../endpoints/endpoint';
import type { AccountId, EventId } from '../events/event';
import type { Lane } from '../gates/lanes';
import type { JobSide } from '../gates/parked';

/** One run of a delivery's job. */
export interface DeliveryRun {
  readonly accountId: AccountId;
  readonly eventId: EventId;
  readonly endpointId: EndpointId;
  /** Which of the delivery's two jobs this is. */
  readonly side: JobSide;
  /** Whether it waited at its endpoint's gate. */
  readonly wasReleased: boolean;
  /** Which of the two queues the job is on. */
  readonly lane: Lane;
}
