import { Sealer } from '../endpoints/seal';
import { sealingKeysSchema } from '../platform/sealing-key';

/** The SECRETS_ENCRYPTION_KEY of tests. */
export const TEST_ENCRYPTION_KEY = Buffer.alloc(32, 'test').toString('base64');

/** Seals as processes with this key do. */
export const testSealer = new Sealer(sealingKeysSchema.parse(TEST_ENCRYPTION_KEY));
