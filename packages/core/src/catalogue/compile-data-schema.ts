import { Ajv2020, type AnySchema, type ErrorObject } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { AppError, type Fault } from '../kernel/app-error';
import { jsonPointer } from '../kernel/json-pointer';
import { shorten } from '../kernel/shorten';
import { createLinearRegExp } from './linear-reg-exp';
import { createWorkMeter, meterWork, TooMuchWork } from './schema-work';
import { createUniqueItems } from './unique-items';
import { isUrl } from './url-format';

/** What is wrong with an event's `data`; nothing, if nothing is. */
export type CheckData = (data: unknown) => readonly Fault[];

/**
 * Makes a check out of a JSON Schema (2020-12). It refers to itself at most: nothing is fetched. Whatever the schema is like,
 * a check ends soon: data that would take too long are refused.
 *
 * @throws AppError `invalid_request` when it is no schema that can be relied on; an unknown keyword is a fault too.
 */
export function compileDataSchema(schema: AnySchema): CheckData {
  const meter = createWorkMeter();
  // A new one each time: ajv keeps every schema by its `$id`, and would refuse the next version.
  const ajv = new Ajv2020({
    strict: true,
    strictTypes: false,
    strictRequired: false,
    code: { regExp: createLinearRegExp(meter) },
  });
  addFormats.default(ajv);
  ajv.addFormat('url', isUrl);
  ajv.removeKeyword('uniqueItems').addKeyword(createUniqueItems(meter));
  meterWork(ajv, schema, meter);
  const validate = compile(ajv, schema);
  // The first fault ends a check.
  return (data) => {
    meter.begin();
    try {
      return validate(data) ? [] : (validate.errors ?? []).map(toFault);
    } catch (error) {
      if (error instanceof TooMuchWork) return [TOO_MUCH_WORK];
      if (!(error instanceof RangeError)) throw error;
      return [{ pointer: '/data', detail: 'can not be checked: its schema refers to itself without end' }];
    }
  };
}

const TOO_MUCH_WORK: Fault = {
  pointer: '/data',
  detail: 'can not be checked: with the schema of its type that is too much work',
};

function compile(ajv: Ajv2020, schema: AnySchema) {
  try {
    return ajv.compile(schema);
  } catch (error) {
    throw new AppError('invalid_request', 'The schema is not a JSON Schema (2020-12): see "errors".', {
      faults: [{ pointer: '/schema', detail: error instanceof Error ? error.message : String(error) }],
    });
  }
}

function toFault({
  instancePath,
  keyword,
  message = 'is not as its schema asks',
  params,
}: ErrorObject): Fault {
  return {
    pointer: `/data${shortenParts(instancePath)}${memberOf(params)}`,
    detail: WORDS[keyword] ?? message,
  };
}

// Where ajv's own words are about the object around the member that we point to.
const WORDS: Readonly<Record<string, string>> = {
  required: 'is required',
  additionalProperties: 'is not a known member',
  unevaluatedProperties: 'is not a known member',
};

function shortenParts(pointer: string): string {
  return pointer.split('/').map(shorten).join('/');
}

// ajv points to the object around a member that is missing, or that should not be there.
function memberOf(params: Readonly<Record<string, unknown>>): string {
  const member = params.additionalProperty ?? params.unevaluatedProperty ?? params.missingProperty;
  return typeof member === 'string' ? jsonPointer([member]) : '';
}
