import { breakingOffKinds } from './breaking-off';
import { endlessKinds } from './endless';
import { interimKinds } from './interim';
import { malformedKinds } from './malformed';
import type { ReceiverKind } from './receiver-kind';
import { redirectingKinds } from './redirecting';
import { refusingKinds } from './refusing';
import { silentKinds } from './silent';
import { tlsKinds } from './tls';
import { unusualKinds } from './unusual';

/** Each kind of receiver that the service must live with. */
export const receiverKinds: readonly ReceiverKind[] = [
  ...silentKinds,
  ...endlessKinds,
  ...interimKinds,
  ...redirectingKinds,
  ...refusingKinds,
  ...breakingOffKinds,
  ...malformedKinds,
  ...unusualKinds,
  ...tlsKinds,
];
