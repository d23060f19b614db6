// @ts-check
import {
  CallParenType,
  CollapseSimpleStatement,
  Config,
  formatCode,
  IndentType,
  LuaVersion,
  OutputVerification,
  QuoteStyle,
} from '@johnnymorganz/stylua';
import { ScriptFault } from './read-tags.mjs';

// Wider than TypeScript: `redis.call` takes a line for each argument that does not fit.
const COLUMNS = 120;

/** @param {string} path @param {string} text @returns {string} @throws {ScriptFault} */
export function formatLua(path, text) {
  try {
    return formatCode(text, newConfig(), undefined, OutputVerification.None);
  } catch (error) {
    throw new ScriptFault(path, 1, error instanceof Error ? error.message : String(error));
  }
}

// The formatter takes its own away.
function newConfig() {
  const config = Config.new();
  config.syntax = LuaVersion.Lua51;
  config.column_width = COLUMNS;
  config.indent_type = IndentType.Spaces;
  config.indent_width = 2;
  config.quote_style = QuoteStyle.AutoPreferSingle;
  config.call_parentheses = CallParenType.NoSingleTable;
  config.collapse_simple_statement = CollapseSimpleStatement.ConditionalOnly;
  return config;
}
