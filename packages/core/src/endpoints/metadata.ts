import { z } from 'zod';
import { textSchema } from '../kernel/text';

export const MAX_METADATA = 50;

const keySchema = textSchema(64).min(1);
const valueSchema = textSchema(500);

/** The client's own notes on an endpoint. */
export const metadataSchema = z.record(keySchema, valueSchema).meta({ maxProperties: MAX_METADATA });

/** The same as a merge patch: `null` removes a member. */
export const metadataPatchSchema = z.record(keySchema, valueSchema.nullable());
