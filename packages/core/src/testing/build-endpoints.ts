import { EventTypeStore } from '../accounts/event-types/redis-event-type-store';
import { AccountStore } from '../accounts/redis-account-store';
import { oneShard } from '../domain/queues';
import { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import { Endpoints, type EndpointsParts } from '../endpoints/endpoints';
import { HealthStore } from '../endpoints/health/redis-health-store';
import type { OperationalEvents } from '../endpoints/operational-events';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { TransformationStore } from '../endpoints/redis-transformation-store';
import { SigningKeyStore } from '../endpoints/signing-keys/redis-signing-key-store';
import { SigningKeys } from '../endpoints/signing-keys/signing-keys';
import { WaitingDeliveries, type WaitingDeliveriesParts } from '../endpoints/waiting-deliveries';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventStore } from '../events/redis-event-store';
import type { Clock } from '../platform/clock';
import { atomicAsOne } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { buildVerification } from './build-verification';
import { fake } from './fake';
import { recordRaised } from './record-raised';
import { testRetention } from './test-retention';
import { testSealer } from './test-sealer';

export const TEST_MAX_ENDPOINTS = 5;

type Given = Partial<EndpointsParts & WaitingDeliveriesParts> & { readonly clock: Clock };

/** The endpoints over a Redis, with some parts of a test's own. */
export function buildEndpoints(redis: RedisClient, given: Given): Endpoints {
  const parts = {
    endpointStore: new EndpointStore(redis, testSealer),
    accountStore: new AccountStore(redis),
    eventTypeStore: new EventTypeStore(redis),
    ...buildVerification(redis),
    admissionStore: new AdmissionStore(redis),
    besideLanes: new BesideLanes(redis),
    healthStore: new HealthStore(redis, 60_000),
    transformationStore: new TransformationStore(redis),
    eventStore: new EventStore(redis, testRetention),
    deliveryStore: new DeliveryStore(redis, testRetention),
    deliveryQueue: new DeliveryQueue(redis, oneShard('bull')),
    heldDeliveries: new HeldDeliveries(redis, oneShard('bull')),
    operationalEvents: fake<OperationalEvents>({ raise: recordRaised().raise }),
    maxEndpoints: TEST_MAX_ENDPOINTS,
    atomic: atomicAsOne(redis),
    emit: () => {},
    ...given,
  };
  const signingKeyStore = new SigningKeyStore(redis, testSealer);
  return new Endpoints({
    signingKeys: new SigningKeys({ ...parts, signingKeyStore, keyLeadMs: 0 }),
    waitingDeliveries: new WaitingDeliveries(parts),
    ...parts,
  });
}
