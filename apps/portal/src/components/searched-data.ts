import { depthOf, parsedOrUndefined } from '@hookferry/core/platform/json';

const MAX_BYTES = 1_024;
const MAX_DEPTH = 8;

/** Why the API would not search for data that contain this; `undefined`: it would. Nothing is searched for by ''. */
export function faultOfSearched(text: string): string | undefined {
  if (text === '') return undefined;
  const value = parsedOrUndefined(text);
  if (value === undefined)
    return 'This is not JSON. Names and texts need double quotes: {"order":{"id":4711}}';
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return 'This is not a JSON object. It must look like this: {"order":{"id":4711}}';
  }
  if (new TextEncoder().encode(text).length > MAX_BYTES) return 'This is too long: at most 1,024 bytes.';
  return depthOf(text) > MAX_DEPTH ? 'This is nested too deeply: at most 8 levels.' : undefined;
}
