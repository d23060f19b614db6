// @ts-check
/** How jest reads the portal's sources: their texts are English, and macros become calls as in the build. */
import swc from '@swc/jest';
import { expandMacros } from '../../apps/portal/build/expand-macros.mjs';

/** @param {import('@swc/core').Options} options those of @swc/jest */
export function createTransformer(options) {
  const transformer = /** @type {import('@jest/transform').SyncTransformer} */ (
    swc.createTransformer?.(options)
  );
  return {
    ...transformer,
    /** @type {typeof transformer.process} */
    process(code, path, jest) {
      const expanded = expandMacros(code, path, { i18n: 'language/language.ts' });
      return transformer.process(expanded?.code ?? code, path, jest);
    },
  };
}

export default { createTransformer };
