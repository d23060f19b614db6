import { Ajv2020 } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import type { Json } from '../openapi/operation';

/** The description's name in references. */
export const DESCRIPTION = 'openapi';

/** Validates by the schemas in the API's description. */
export function createDescriptionAjv(description: Json): Ajv2020 {
  // As a whole it is no JSON Schema; its parts are.
  const ajv = new Ajv2020({ strict: false, validateSchema: false, allErrors: true });
  addFormats.default(ajv);
  return ajv.addSchema(description, DESCRIPTION);
}
