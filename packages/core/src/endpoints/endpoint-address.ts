import { z } from 'zod';
import { type EndpointId, endpointIdSchema } from '../model/endpoint';
import { type AccountId, accountIdSchema } from '../model/event';

interface Address {
  readonly accountId: AccountId;
  readonly endpointId: EndpointId;
}

const SEPARATOR = '/';

const addressSchema = z
  .string()
  .transform((text) => text.split(SEPARATOR))
  .pipe(z.tuple([accountIdSchema, endpointIdSchema]))
  .transform(([accountId, endpointId]): Address => ({ accountId, endpointId }));

/** An endpoint with whose it is, as it stands in indexes of all accounts together. */
export function encodeAddress({ accountId, endpointId }: Address): string {
  return accountId + SEPARATOR + endpointId;
}

/** What we have written ourselves. @throws ZodError for anything else. */
export function decodeAddress(text: string): Address {
  return addressSchema.parse(text);
}

/** The same, `undefined` for what a former version has written in another form. */
export function readAddress(text: string): Address | undefined {
  return addressSchema.safeParse(text).data;
}
