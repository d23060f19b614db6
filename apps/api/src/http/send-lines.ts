import type { Response } from 'express';
import type { Parts } from './route';
import { sendParts } from './send-parts';

/** A JSON text a line. */
export const NDJSON_TYPE = 'application/x-ndjson';

const SIGN_OF_LIFE_EVERY_MS = 10_000;

/** Answers with lines, among which an empty one is a sign of life. */
export async function sendLines(
  response: Response,
  lines: Parts,
  signOfLifeEveryMs = SIGN_OF_LIFE_EVERY_MS,
): Promise<void> {
  await sendParts(response, lines, { type: NDJSON_TYPE, signOfLife: '\n', signOfLifeEveryMs });
}
