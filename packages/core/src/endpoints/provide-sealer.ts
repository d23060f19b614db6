import type { SealingKey } from '../kernel/sealing-key';
import type { Emit } from '../model/signal';
import { createSealer, type Sealer } from './seal';

/** What seals in this process, with a warning if that is nothing. */
export function provideSealer(keys: readonly SealingKey[], emit: Emit): Sealer {
  if (keys.length === 0) {
    emit({
      name: 'secrets.unprotected',
      detail:
        'INSECURE_UNENCRYPTED_SECRETS is set, and no SECRETS_ENCRYPTION_KEY: secrets are stored as plain text.',
    });
  }
  return createSealer(keys);
}
