import { z } from 'zod';

export const MAX_METADATA = 50;

const keySchema = z.string().min(1).max(64, 'must have at most 64 characters');
const valueSchema = z.string().max(500, 'must have at most 500 characters');

/** The client's own notes on an endpoint. */
export const metadataSchema = z.record(keySchema, valueSchema);

/** The same as a merge patch: `null` removes a member. */
export const metadataPatchSchema = z.record(keySchema, valueSchema.nullable());
