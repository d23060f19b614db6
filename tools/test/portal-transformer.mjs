// @ts-check
/** How jest reads the portal's sources: their texts are English, and macros become calls as in the build. */
import swc from '@swc/jest';
import { expandMacros } from '../../apps/portal/build/expand-macros.mjs';

/** @param {import('@swc/core').Options} options those of @swc/jest */
export function createTransformer(options) {
  const transformer = swc.createTransformer?.(options);
  const { process } = transformer ?? {};
  if (!process) throw new Error('@swc/jest has no synchronous transformer');
  return {
    ...transformer,
    /** @type {typeof process} */
    process: (code, path, jest) =>
      transformer.process(
        expandMacros(code, path, { i18n: 'language/language.ts' })?.code ?? code,
        path,
        jest,
      ),
  };
}

export default { createTransformer };
