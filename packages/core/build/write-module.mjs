// @ts-check
import { basename, dirname, relative } from 'node:path';
import { expandLua, librariesOf } from './expand-lua.mjs';
import { ScriptFault } from './read-tags.mjs';

/** @typedef {import('./expand-lua.mjs').LuaFile} LuaFile */
/** @typedef {import('./expand-lua.mjs').LuaScript} LuaScript */
/** @typedef {import('./expand-lua.mjs').Helper} Helper */
/** @typedef {import('./expand-lua.mjs').Library} Library */
/** @typedef {import('./read-tags.mjs').ScriptTags} ScriptTags */
/** @typedef {import('./read-tags.mjs').Member} Member */
/** @typedef {import('./read-tags.mjs').Type} Type */

/**
 * The TypeScript of a file: for each script a function that calls it, with the types of what it gets and gives.
 *
 * @param {LuaFile} file
 * @param {readonly Library[]} known the helpers of the file, and of all that it includes
 * @param {ReadonlyMap<string, string>} knownTypes name → file of the types of `domain/`, without `.ts`
 * @returns {string}
 * @throws {ScriptFault}
 */
export function writeModule(file, known, knownTypes) {
  const { path, tags: fileTags } = file;
  const imports = new Imports(file, knownTypes);
  const files = [...new Set(known.map(({ file: each }) => each)), file];
  const records = new Map(
    files.flatMap((each) => each.tags.records.map(({ name, members }) => [name, { members, from: each }])),
  );
  const parts = [
    ...file.helpers.map(helperText),
    ...fileTags.records.flatMap(recordTexts),
    ...file.scripts.flatMap(scriptTexts),
  ];
  const start = [`// Written by \`npm run scripts\` from ${basename(path)}: change that.`, imports.text()];
  return `${start.filter(Boolean).join('\n')}\n\n${parts.join('\n')}`;

  /** @param {Helper} helper */
  function helperText(helper) {
    return `export const ${camelCase(helper.name)} = {\n  file: '${path}',\n  line: ${helper.line},\n  body: \`${bodyOf(helper)}\`,\n};\n`;
  }

  /** @param {LuaScript} script */
  function scriptTexts(script) {
    const { name, tags } = script;
    const texts = [definitionText(script)];
    const inputs = inputsOf(tags).map((member) =>
      memberText(member, member.type.kind === 'optional' ? '?' : ''),
    );
    if (inputs.length > 0) texts.push(interfaceText(`${pascalCase(name)}Input`, inputs));
    if (tags.replies.length > 0)
      texts.push(
        interfaceText(
          `${pascalCase(name)}Reply`,
          tags.replies.map((member) => memberText(member)),
        ),
      );
    return [...texts, callText(script), readText(script)];
  }

  /** @param {LuaScript} script */
  function definitionText(script) {
    const libraries = librariesOf(script.node, known);
    for (const { file: other, helper } of libraries) {
      if (other !== file) imports.add(camelCase(helper.name), other.path.replace(/\.lua$/, '.script'));
    }
    const { isChange, isGuard } = script.tags;
    const define = isChange ? 'defineChange' : 'defineLua';
    imports.add(define, isChange ? CHANGES : 'platform/redis-lua');
    const names = libraries.map(({ helper }) => camelCase(helper.name));
    return `const ${camelCase(script.name)}Script = ${define}({\n  file: '${path}',\n  line: ${script.line},\n  isGuard: ${isGuard},\n  libraries: [${names.join(', ')}],\n  body: \`${bodyOf(script)}\`,\n});\n`;
  }

  /** @param {Helper | LuaScript} part */
  function bodyOf(part) {
    const { body, usedConstants, usesKeys } = expandLua(file, part, known);
    if (usedConstants.size > 0) imports.add('lua', 'platform/redis-lua');
    if (usesKeys) imports.add('inLua', 'platform/redis-lua').add('keys', 'domain/keys');
    for (const { name, from } of fileTags.constants) if (usedConstants.has(name)) imports.addFrom(name, from);
    return body;
  }

  /** @param {Member} member @param {'?' | ''} mark */
  function memberText({ name, type, comment }, mark = '') {
    const doc = comment === '' ? '' : `  /** ${comment[0]?.toUpperCase()}${comment.slice(1)}. */\n`;
    return `${doc}  readonly ${camelCase(name)}${mark}: ${typeText(type)};`;
  }

  /** @param {Type} type @returns {string} */
  function typeText(type) {
    switch (type.kind) {
      case 'text':
      case 'shared':
        return 'string';
      case 'integer':
      case 'digits':
        return 'number';
      case 'boolean':
        return 'boolean';
      case 'choice':
        return type.values.join(' | ');
      case 'optional':
        return `${typeText(type.of)} | undefined`;
      case 'list': {
        const of = typeText(type.of);
        return /[ |]/.test(of) ? `readonly (${of})[]` : `readonly ${of}[]`;
      }
      case 'object':
        return `{ ${type.members.map((member) => `readonly ${camelCase(member.name)}: ${typeText(member.type)}`).join('; ')} }`;
      case 'named':
        if (isRecord(type))
          return importRecord(`type ${pascalCase(type.name)}`, type.name).slice('type '.length);
        imports.addType(type.name);
        return type.name;
    }
  }

  /** @param {LuaScript} script */
  function replyTypeText({ name, tags, stopsWithout }) {
    if (tags.returns) return typeText(tags.returns);
    if (tags.replies.length === 0) return tags.isGuard ? 'boolean' : 'void';
    return stopsWithout ? `${pascalCase(name)}Reply | undefined` : `${pascalCase(name)}Reply`;
  }

  /** @param {LuaScript} script */
  function callText(script) {
    const { name, tags } = script;
    const [kind, make] = kindOf(tags);
    const from = tags.isChange ? CHANGES : 'platform/redis-lua';
    imports.add(make, from).add(`type ${kind}`, from);
    const doc = tags.description.map((line) => ` *${line === '' ? '' : ` ${line}`}\n`).join('');
    const input = inputsOf(tags).length === 0 ? '' : `input: ${pascalCase(name)}Input`;
    const args = tags.params.map(({ name: param, type }) => packText(type, `input.${camelCase(param)}`));
    return `${doc === '' ? '' : `/**\n${doc} */\n`}export function ${camelCase(name)}(${input}): ${kind}<${replyTypeText(script)}> {\n  return ${make}(${camelCase(name)}Script, ${keysText(script)}, [${args.join(', ')}], read${pascalCase(name)});\n}\n`;
  }

  /** @param {LuaScript} script */
  function keysText({ tags, line }) {
    const always = tags.keys.filter(({ condition }) => condition === undefined);
    const others = tags.keys.slice(always.length);
    const [condition, different] = new Set(others.map((key) => key.condition));
    if (
      different !== undefined ||
      tags.keys.slice(0, always.length).some((key) => key.condition !== undefined)
    ) {
      throw new ScriptFault(path, line, 'keys with a condition come last, and have one condition');
    }
    const texts = always.map(keyText);
    if (condition !== undefined) {
      texts.push(`...(${conditionText(tags, condition, line)} ? [${others.map(keyText).join(', ')}] : [])`);
    }
    return `[${texts.join(', ')}]`;
  }

  /** @param {ScriptTags} tags @param {string} condition the name of an input @param {number} line */
  function conditionText(tags, condition, line) {
    const input = inputsOf(tags).find((each) => each.name === condition);
    if (!input) throw new ScriptFault(path, line, `the condition ${condition} is no @with and no @param`);
    return input.type.kind === 'boolean'
      ? `input.${camelCase(condition)}`
      : `input.${camelCase(condition)} !== undefined`;
  }

  /** @param {import('./read-tags.mjs').Key} key */
  function keyText({ name, from }) {
    if (from.kind === 'caller') return `input.${camelCase(name)}`;
    if (from.kind === 'list') return `...input.${camelCase(name)}`;
    if (from.kind === 'member') return `input.${from.path}`;
    imports.add('keys', 'domain/keys');
    const inputs = from.inputs.map((input) => (input.startsWith("'") ? input : `input.${camelCase(input)}`));
    return inputs.length === 0 ? `keys.${from.key}` : `keys.${from.key}(${inputs.join(', ')})`;
  }

  /** @param {LuaScript} script */
  function readText(script) {
    const { name, tags, stopsWithout } = script;
    const head = `function read${pascalCase(name)}(`;
    if (tags.returns) {
      return `${head}reply: unknown${textsParameter([tags.returns])}): ${replyTypeText(script)} {\n  return ${readValue(tags.returns, 'reply')};\n}\n`;
    }
    if (tags.replies.length === 0) {
      return tags.isGuard
        ? `${head}reply: unknown): boolean {\n  return reply === 1;\n}\n`
        : `${head}): void {}\n`;
    }
    const offset = tags.isGuard ? 1 : 0;
    const texts = textsParameter(tags.replies.map(({ type }) => type));
    const stopped = stopsWithout ? '  if (reply.length === 1) return undefined;\n' : '';
    return `${head}reply: readonly unknown[]${texts}): ${replyTypeText(script)} {\n${stopped}  return {\n${membersText(tags.replies, 'reply', offset)}  };\n}\n`;
  }

  /** @param {{ name: string, members: readonly Member[] }} record */
  function recordTexts({ name, members }) {
    const type = pascalCase(name);
    const texts = textsParameter(members.map((member) => member.type));
    return [
      interfaceText(
        type,
        members.map((member) => memberText(member)),
      ),
      `export function read${type}(row: readonly unknown[]${texts}): ${type} {\n  return {\n${membersText(members, 'row', 0)}  };\n}\n`,
    ];
  }

  /** @param {readonly Member[]} members @param {string} list @param {number} offset */
  function membersText(members, list, offset) {
    return members
      .map(({ name, type }, i) => `    ${camelCase(name)}: ${readValue(type, `${list}[${i + offset}]`)},\n`)
      .join('');
  }

  /** @param {readonly Type[]} types */
  function textsParameter(types) {
    return types.some(usesTexts) ? ', texts: readonly string[]' : '';
  }

  /** @param {Type} type @returns {boolean} */
  function usesTexts(type) {
    if (type.kind === 'shared') return true;
    if (type.kind === 'optional' || type.kind === 'list') return usesTexts(type.of);
    return (
      type.kind === 'named' &&
      (records.get(type.name)?.members ?? []).some((member) => usesTexts(member.type))
    );
  }

  /** What was replied, as its type. @param {Type} type @param {string} value @returns {string} */
  function readValue(type, value) {
    switch (type.kind) {
      case 'boolean':
        return `${value} === 1`;
      case 'shared':
        imports.add('sharedText', 'platform/redis-lua');
        return `sharedText(texts, ${value}) as string`;
      case 'optional':
        if (type.of.kind === 'shared') {
          imports.add('sharedText', 'platform/redis-lua');
          return `sharedText(texts, ${value})`;
        }
        if (type.of.kind === 'list' || isRecord(type.of))
          return `${value} ? ${readValue(type.of, value)} : undefined`;
        return `(${value} ?? undefined) as ${typeText(type)}`;
      case 'list':
        if (!isRecord(type.of)) return `${value} as ${typeText(type)}`;
        return `(${value} as readonly (readonly unknown[])[]).map((row) => ${readRow(type.of, 'row')})`;
      case 'text':
      case 'integer':
      case 'digits':
      case 'choice':
      case 'named':
      case 'object':
        return isRecord(type)
          ? readRow(type, `${value} as readonly unknown[]`)
          : `${value} as ${typeText(type)}`;
    }
  }

  /** @param {Type} type @param {string} row */
  function readRow(type, row) {
    const name = type.kind === 'named' ? type.name : '';
    return `${importRecord(`read${pascalCase(name)}`, name)}(${row}${usesTexts(type) ? ', texts' : ''})`;
  }

  /** @param {string} imported what its module exports of a record @param {string} name of that */
  function importRecord(imported, name) {
    const from = records.get(name)?.from;
    if (from && from !== file) imports.add(imported, from.path.replace(/\.lua$/, '.script'));
    return imported;
  }

  /** @param {Type} type */
  function isRecord(type) {
    return type.kind === 'named' && records.has(type.name);
  }
}

const CHANGES = 'accounts/audit/redis-recorded-change';

/** What a module imports. */
class Imports {
  /** @type {Map<string, Set<string>>} */
  #names = new Map();
  #file;
  #knownTypes;

  /** @param {LuaFile} file @param {ReadonlyMap<string, string>} knownTypes */
  constructor(file, knownTypes) {
    this.#file = file;
    this.#knownTypes = knownTypes;
  }

  /** @param {string} name @param {string} file below the folder of all sources */
  add(name, file) {
    const way = relative(dirname(this.#file.path), file);
    return this.addFrom(name, way.startsWith('.') ? way : `./${way}`);
  }

  /** @param {string} name @param {string} from as it is written */
  addFrom(name, from) {
    this.#names.set(from, (this.#names.get(from) ?? new Set()).add(name));
    return this;
  }

  /** @param {string} name */
  addType(name) {
    const own = this.#file.tags.types.find((type) => type.name === name);
    const known = this.#knownTypes.get(name);
    if (own) this.addFrom(`type ${name}`, own.from);
    else if (known !== undefined) this.add(`type ${name}`, known);
    else throw new ScriptFault(this.#file.path, 1, `no type is called ${name}: name its file with @type`);
  }

  text() {
    return [...this.#names]
      .map(([from, names]) => `import { ${[...names].toSorted().join(', ')} } from '${from}';`)
      .join('\n');
  }
}

/** What a call of a script is, and what makes one. @param {ScriptTags} tags @returns {readonly [kind: string, make: string]} */
function kindOf({ isChange, isGuard }) {
  if (isChange) return ['Change', 'changeOf'];
  return isGuard ? ['Guard', 'guardOf'] : ['Step', 'stepOf'];
}

const TEXT = /** @type {const} */ ({ kind: 'text' });
const TEXTS = /** @type {const} */ ({ kind: 'list', of: TEXT });

/** What a caller gives: for the keys, the keys of its own, and the arguments. @param {ScriptTags} tags @returns {Member[]} */
function inputsOf({ inputs, keys, params }) {
  const own = keys.filter(({ from }) => from.kind === 'caller' || from.kind === 'list');
  return [
    ...inputs,
    ...own.map(({ name, from }) => ({ name, type: from.kind === 'list' ? TEXTS : TEXT, comment: '' })),
    ...params,
  ];
}

/** An argument as it is packed. @param {Type} type @param {string} value @returns {string} */
function packText(type, value) {
  switch (type.kind) {
    case 'digits':
      return `String(${value})`;
    case 'optional': {
      const packed = packText(type.of, value);
      return packed === value ? value : `${value} === undefined ? undefined : ${packed}`;
    }
    case 'list': {
      const packed = packText(type.of, 'each');
      return packed === 'each' ? value : `${value}.map((each) => (${packed}))`;
    }
    case 'object':
      return `{ ${type.members.map((member) => `${member.name}: ${packText(member.type, `${value}.${camelCase(member.name)}`)}`).join(', ')} }`;
    case 'text':
    case 'integer':
    case 'boolean':
    case 'shared':
    case 'choice':
    case 'named':
      return value;
  }
}

/** @param {string} name @param {readonly string[]} members */
function interfaceText(name, members) {
  return `export interface ${name} {\n${members.join('\n')}\n}\n`;
}

/** @param {string} name */
export function camelCase(name) {
  return name.replaceAll(/[-_](\w)/g, (_, letter) => letter.toUpperCase());
}

/** @param {string} name */
function pascalCase(name) {
  const camel = camelCase(name);
  return `${camel[0]?.toUpperCase()}${camel.slice(1)}`;
}
