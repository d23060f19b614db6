import type { Finding } from './checks/finding';
import type { EndpointSpec } from './endpoints';
import type { Resend } from './ledger';
import type { Publisher } from './publisher';
import type { Random } from './random';
import type { Receivers } from './receivers';
import type { RegisteredEndpoint } from './register-endpoints';
import type { Service } from './service';

/** What a run has before it while events come in. */
export interface Scene {
  readonly service: Service;
  readonly receivers: Receivers;
  readonly publisher: Publisher;
  /** All endpoints of the run, those that were registered while it goes on included. */
  readonly specs: readonly EndpointSpec[];
  readonly registered: readonly RegisteredEndpoint[];
  /** What was asked to be sent once more: to be added to. */
  readonly resends: Resend[];
  /** One more endpoint, which is owed all events of its types, those from before it included. */
  readonly register: (spec: EndpointSpec) => Promise<RegisteredEndpoint>;
  /** A check that is made when nothing is broken any more and no more events come. */
  readonly checkLater: (check: () => Promise<readonly Finding[]>) => void;
  /** One that is made when everything has an end, and all of it has moved to the history. */
  readonly checkWhenMoved: (check: () => Promise<readonly Finding[]>) => void;
}

/** What a fault has before it. */
export interface FaultScene extends Scene {
  readonly random: Random;
}
