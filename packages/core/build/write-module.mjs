// @ts-check
import { basename, dirname, relative } from 'node:path';
import { ScriptFault } from './read-head.mjs';

/** @typedef {import('./read-head.mjs').Head} Head */
/** @typedef {import('./read-head.mjs').Member} Member */
/** @typedef {import('./read-head.mjs').Type} Type */

/**
 * The TypeScript of a script: a function that calls it, with the types of what it gets and gives; or the functions of a file
 * that others include.
 *
 * @param {object} source
 * @param {string} source.path of the `.lua` file, below the folder of all sources
 * @param {Head} source.head
 * @param {string} source.body as a template
 * @param {boolean} source.usesKeys whether the template makes keys
 * @param {readonly string[]} source.libraries paths of the files that it includes, each behind those that it needs
 * @param {ReadonlyMap<string, string>} source.knownTypes name → file of the types of `domain/`, without `.ts`
 * @returns {string}
 * @throws {ScriptFault}
 */
export function writeModule({ path, head, body, usesKeys, libraries, knownTypes }) {
  const name = camelCase(basename(path, '.lua'));
  const recordNames = new Set(head.records.map((record) => record.name));
  /** @type {Set<string>} */
  const usedTypes = new Set();
  const replyType = `${pascalCase(name)}Reply`;
  const parts = head.isScript ? [scriptText(), ...typeTexts(), callText(), readText()] : [libraryText()];
  const written = parts.filter(Boolean).join('\n');
  return `// Written by \`npm run scripts\` from ${basename(path)}: change that.\n${importTexts().join('\n')}\n\n${written}`;

  function libraryText() {
    return `export const ${name} = defineLibrary({ file: '${path}', body: \`${body}\` });\n`;
  }

  function scriptText() {
    const names = libraries.map((library) => camelCase(basename(library, '.lua')));
    return `const script = ${head.isChange ? 'defineChange' : 'defineLua'}({\n  file: '${path}',\n  isGuard: ${head.isGuard},\n  libraries: [${names.join(', ')}],\n  body: \`${body}\`,\n});\n`;
  }

  function typeTexts() {
    const inputs = inputsOf(head).map((member) =>
      memberText(member, member.type.kind === 'optional' ? '?' : ''),
    );
    const texts = inputs.length === 0 ? [] : [interfaceText(`${pascalCase(name)}Input`, inputs)];
    for (const { name: record, members } of head.records)
      texts.push(
        interfaceText(
          pascalCase(record),
          members.map((member) => memberText(member)),
        ),
      );
    if (head.replies.length > 0)
      texts.push(
        interfaceText(
          replyType,
          head.replies.map((member) => memberText(member)),
        ),
      );
    return texts;
  }

  /** @param {Member} member @param {'?' | ''} mark */
  function memberText({ name: member, type, comment }, mark = '') {
    const doc = comment === '' ? '' : `  /** ${comment[0]?.toUpperCase()}${comment.slice(1)}. */\n`;
    return `${doc}  readonly ${camelCase(member)}${mark}: ${typeText(type)};`;
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
        if (recordNames.has(type.name)) return pascalCase(type.name);
        usedTypes.add(type.name);
        return type.name;
    }
  }

  function replyTypeText() {
    if (head.returns) return typeText(head.returns);
    if (head.replies.length === 0) return head.isGuard ? 'boolean' : 'void';
    return mayStopWithoutMembers() ? `${replyType} | undefined` : replyType;
  }

  // `stop()` without members is spelled as this.
  function mayStopWithoutMembers() {
    return head.isGuard && body.includes('{0}');
  }

  function callText() {
    const hasInput = inputsOf(head).length > 0;
    const doc = head.description.map((line) => ` *${line === '' ? '' : ` ${line}`}\n`).join('');
    const [kind, make] = kindOf(head);
    const args = head.args.map(({ name: arg, type }) => packText(type, `input.${camelCase(arg)}`));
    return `/**\n${doc} */\nexport function ${name}(${hasInput ? `input: ${pascalCase(name)}Input` : ''}): ${kind}<${replyTypeText()}> {\n  return ${make}(script, ${keysText()}, [${args.join(', ')}], read);\n}\n`;
  }

  function keysText() {
    const isConditional = head.keys.some(({ condition }) => condition !== undefined);
    const always = head.keys.filter(({ condition }) => condition === undefined).map(keyText);
    if (!isConditional) return `[${always.join(', ')}]`;
    const [first] = head.keys.filter(({ condition }) => condition !== undefined);
    const others = head.keys.filter(({ condition }) => condition !== undefined).map(keyText);
    const conditions = new Set(head.keys.slice(always.length).map(({ condition }) => condition));
    if (conditions.size > 1 || conditions.has(undefined))
      throw fault('keys with a condition come last, and have one condition');
    return `[${always.join(', ')}, ...(${conditionText(first?.condition ?? '')} ? [${others.join(', ')}] : [])]`;
  }

  /** @param {string} condition the name of an input */
  function conditionText(condition) {
    const input = inputsOf(head).find((each) => each.name === condition);
    if (!input) throw fault(`the condition ${condition} is no @with and no @arg`);
    return input.type.kind === 'boolean'
      ? `input.${camelCase(condition)}`
      : `input.${camelCase(condition)} !== undefined`;
  }

  /** @param {import('./read-head.mjs').Key} key */
  function keyText({ name: key, from }) {
    if (from.kind === 'caller') return `input.${camelCase(key)}`;
    if (from.kind === 'member') return `input.${from.path}`;
    const inputs = from.inputs.map((input) => (/^'/.test(input) ? input : `input.${camelCase(input)}`));
    return inputs.length === 0 ? `keys.${from.key}` : `keys.${from.key}(${inputs.join(', ')})`;
  }

  function readText() {
    if (head.returns)
      return `function read(reply: unknown${usesTexts(head.returns) ? ', texts: readonly string[]' : ''}): ${replyTypeText()} {\n  return ${readValue(head.returns, 'reply')};\n}\n`;
    if (head.replies.length === 0) {
      return head.isGuard
        ? 'function read(reply: unknown): boolean {\n  return reply === 1;\n}\n'
        : 'function read(): void {}\n';
    }
    const offset = head.isGuard ? 1 : 0;
    const members = head.replies.map(
      ({ name: member, type }, i) =>
        `    ${camelCase(member)}: ${readValue(type, `reply[${i + offset}]`)},\n`,
    );
    const texts = head.replies.some(({ type }) => usesTexts(type)) ? ', texts: readonly string[]' : '';
    const stopped = mayStopWithoutMembers() ? '  if (reply.length === 1) return undefined;\n' : '';
    const read = `function read(reply: readonly unknown[]${texts}): ${replyTypeText()} {\n${stopped}  return {\n${members.join('')}  };\n}\n`;
    return [read, ...head.records.map(recordReadText)].join('\n');
  }

  /** @param {{ name: string, members: readonly Member[] }} record */
  function recordReadText({ name: record, members }) {
    const texts = members.some(({ type }) => usesTexts(type)) ? ', texts: readonly string[]' : '';
    const each = members.map(
      ({ name: member, type }, i) => `    ${camelCase(member)}: ${readValue(type, `row[${i}]`)},\n`,
    );
    return `function read${pascalCase(record)}(row: readonly unknown[]${texts}): ${pascalCase(record)} {\n  return {\n${each.join('')}  };\n}\n`;
  }

  /** @param {Type} type @returns {boolean} */
  function usesTexts(type) {
    if (type.kind === 'shared') return true;
    if (type.kind === 'optional' || type.kind === 'list') return usesTexts(type.of);
    return (
      type.kind === 'named' &&
      head.records.some(
        ({ name: record, members }) =>
          record === type.name && members.some((member) => usesTexts(member.type)),
      )
    );
  }

  /** What was replied, as its type. @param {Type} type @param {string} value @returns {string} */
  function readValue(type, value) {
    switch (type.kind) {
      case 'boolean':
        return `${value} === 1`;
      case 'shared':
        return `sharedText(texts, ${value}) as string`;
      case 'optional':
        if (type.of.kind === 'shared') return `sharedText(texts, ${value})`;
        if (type.of.kind === 'list' || isRecord(type.of))
          return `${value} ? ${readValue(type.of, value)} : undefined`;
        return `(${value} ?? undefined) as ${typeText(type)}`;
      case 'list':
        if (!isRecord(type.of)) return `${value} as ${typeText(type)}`;
        return `(${value} as readonly (readonly unknown[])[]).map((row) => ${readRow(type.of, 'row')})`;
      default:
        return isRecord(type)
          ? readRow(type, `${value} as readonly unknown[]`)
          : `${value} as ${typeText(type)}`;
    }
  }

  /** @param {Type} type @param {string} row */
  function readRow(type, row) {
    return `read${typeText(type)}(${row}${usesTexts(type) ? ', texts' : ''})`;
  }

  /** @param {Type} type */
  function isRecord(type) {
    return type.kind === 'named' && recordNames.has(type.name);
  }

  function importTexts() {
    const lua = moduleAt('platform/lua');
    const helpers = ['defineLibrary', 'defineLua', 'inLua', 'lua', 'sharedText'].filter((each) =>
      new RegExp(`\\b${each}\\(`).test(written),
    );
    const [kind, make] = kindOf(head);
    if (head.isScript && !head.isChange) helpers.push(make, `type ${kind}`);
    const texts = helpers.length === 0 ? [] : [`import { ${helpers.join(', ')} } from '${lua}';`];
    if (head.isChange)
      texts.push(
        `import { ${make}, defineChange, type ${kind} } from '${moduleAt('audit/redis-recorded-change')}';`,
      );
    if (usesKeys || /\bkeys\./.test(written))
      texts.push(`import { keys } from '${moduleAt('domain/keys')}';`);
    for (const [from, names] of grouped(head.constants))
      texts.push(`import { ${names.join(', ')} } from '${from}';`);
    const types = [...usedTypes].map((type) => ({ name: type, from: typeFile(type) }));
    for (const [from, names] of grouped(types))
      texts.push(`import type { ${names.join(', ')} } from '${from}';`);
    for (const library of head.isScript ? libraries : []) {
      texts.push(
        `import { ${camelCase(basename(library, '.lua'))} } from '${moduleAt(library.replace(/\.lua$/, '.script'))}';`,
      );
    }
    return texts;
  }

  /** @param {string} type */
  function typeFile(type) {
    const own = head.types.find((each) => each.name === type);
    if (own) return own.from;
    const known = knownTypes.get(type);
    if (known === undefined) throw fault(`no type is called ${type}: name its file with @type`);
    return moduleAt(known);
  }

  // Of the head as a whole.
  /** @param {string} what */
  function fault(what) {
    return new ScriptFault(path, 1, what);
  }

  /** @param {string} file below the folder of all sources */
  function moduleAt(file) {
    const way = relative(dirname(path), file);
    return way.startsWith('.') ? way : `./${way}`;
  }
}

/** What a call of a script is, and what makes one. @param {Head} head @returns {readonly [kind: string, make: string]} */
function kindOf({ isChange, isGuard }) {
  if (isChange) return ['Change', 'changeOf'];
  return isGuard ? ['Guard', 'guardOf'] : ['Step', 'stepOf'];
}

/** What a caller gives: for the keys, the keys of its own, and the arguments. @param {Head} head @returns {Member[]} */
function inputsOf({ inputs, keys, args }) {
  const own = keys.filter(({ from }) => from.kind === 'caller');
  return [
    ...inputs,
    ...own.map(({ name }) => ({ name, type: /** @type {const} */ ({ kind: 'text' }), comment: '' })),
    ...args,
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
    default:
      return value;
  }
}

/** @param {string} name @param {readonly string[]} members */
function interfaceText(name, members) {
  return `export interface ${name} {\n${members.join('\n')}\n}\n`;
}

/** @param {readonly { name: string, from: string }[]} imports @returns {ReadonlyMap<string, string[]>} */
function grouped(imports) {
  const names = new Map();
  for (const { name, from } of imports) names.set(from, [...(names.get(from) ?? []), name].toSorted());
  return names;
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
