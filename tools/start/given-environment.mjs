// @ts-check

/**
 * Whether the user has set a variable, as itself or, as can be done with any secret, as a file (`X_FILE`).
 * One that is empty counts as not set.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} name
 */
export function isGiven(env, name) {
  return Boolean(env[name]) || Boolean(env[`${name}_FILE`]);
}

/**
 * The environment with `defaults` for what the user has not set.
 * @param {NodeJS.ProcessEnv} env
 * @param {Readonly<Record<string, string>>} defaults
 * @returns {NodeJS.ProcessEnv}
 */
export function withDefaults(env, defaults) {
  const missing = Object.entries(defaults).filter(([name]) => !isGiven(env, name));
  return { ...env, ...Object.fromEntries(missing) };
}
