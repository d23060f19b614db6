// @ts-check
import { fileURLToPath } from 'node:url';
import { transformSync, types } from '@babel/core';
import linguiMacros from '@lingui/babel-plugin-lingui-macro';
import { compileMessage } from '@lingui/message-utils/compileMessage';

const MACRO = /from '@lingui\/(?:core|react)\/macro'/;
const SOURCES = new URL('../src/', import.meta.url);

/**
 * Texts as Lingui reads them at run time, in place of its macros. Types and JSX stay as they are.
 *
 * English stays in the code, so that it needs no message file.
 *
 * @param {string} code
 * @param {string} path
 * @param {{ i18n: string, plugins?: import('@babel/core').PluginItem[] }} options the module of `src` that gives the language, and
 *   plugins that see the result
 * @returns {{ code: string, map?: string } | undefined} undefined: it has no macro
 */
export function expandMacros(code, path, { i18n, plugins = [] }) {
  if (!MACRO.test(code)) return undefined;
  const expanded = transformSync(code, {
    filename: path,
    configFile: false,
    babelrc: false,
    sourceMaps: true,
    compact: false,
    parserOpts: { plugins: path.endsWith('x') ? ['typescript', 'jsx'] : ['typescript'] },
    plugins: [[linguiMacros, optionsWith(i18n)], ...plugins, compileMessages],
  });
  if (typeof expanded?.code !== 'string') throw new Error(`${path}: its macros could not be expanded`);
  return { code: expanded.code, ...(expanded.map && { map: JSON.stringify(expanded.map) }) };
}

/** @param {string} i18n */
function optionsWith(i18n) {
  return {
    stripMessageField: false,
    linguiConfig: {
      runtimeConfigModule: {
        i18n: [fileURLToPath(new URL(i18n, SOURCES)), 'i18n'],
        Trans: ['@lingui/react', 'Trans'],
        useLingui: ['@lingui/react', 'useLingui'],
      },
      macro: { corePackage: ['@lingui/core/macro'], jsxPackage: ['@lingui/react/macro'] },
    },
  };
}

/** Messages are parsed here, so that no browser needs a parser. @returns {import('@babel/core').PluginObj} */
function compileMessages() {
  return {
    visitor: {
      ObjectProperty({ node, parent }) {
        const { key, value } = node;
        const isWritten = parent.leadingComments?.some((comment) => comment.value === 'i18n');
        if (isWritten && types.isIdentifier(key, { name: 'message' }) && types.isStringLiteral(value))
          node.value = types.valueToNode(compile(value.value));
      },
    },
  };
}

/** A text without values stays a text. @param {string} message */
export function compile(message) {
  const compiled = compileMessage(message);
  return compiled.length === 1 && typeof compiled[0] === 'string' ? compiled[0] : compiled;
}
