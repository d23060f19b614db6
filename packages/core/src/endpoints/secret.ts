import { randomBytes } from 'node:crypto';
import { z } from 'zod';

const PREFIX = 'whsec_';
const NEW_SECRET_BYTES = 32;
// Standard Webhooks 1.0 asks for keys of 24 to 64 bytes.
const MIN_BYTES = 24;
const MAX_BYTES = 64;
// Of as many bytes, as an encoder writes it: the bits that the last character has to spare are 0.
const FORM =
  /^whsec_([A-Za-z0-9+/]{4}){8,20}([A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{4}[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/;

/** A new signing secret: `whsec_` and the base64 of 32 random bytes. */
export function newSecret(): string {
  return PREFIX + randomBytes(NEW_SECRET_BYTES).toString('base64');
}

/** A secret that a client brings along. */
export const secretSchema = z
  .string()
  .regex(FORM, `must be "${PREFIX}" and the base64 of ${MIN_BYTES} to ${MAX_BYTES} random bytes`)
  .meta({ example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwHfIO5KOKWTs=' });
