// @ts-check

/**
 * The default of a setting, as it is written in the environment. `undefined`: it has none.
 * @param {{ readonly def: object }} setting as zod has it
 */
export function defaultOf({ def }) {
  const defaultValue = 'defaultValue' in def ? def.defaultValue : undefined;
  if (defaultValue === undefined || (Array.isArray(defaultValue) && defaultValue.length === 0))
    return undefined;
  return typeof defaultValue === 'string' ? defaultValue : JSON.stringify(defaultValue);
}
