import type { Literal, Member, Shape } from './schema-shape';
import { describe, NOTICE, oneLine, TypeNames, type TypeToWrite } from './type-names';

const KEYWORDS = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for from global if ' +
    'import in is lambda nonlocal not or pass raise return try while with yield'
  ).split(' '),
);

/** A TypedDict for the data of each event type, for Python 3.9 and newer. */
export function writePython(types: readonly TypeToWrite[]): string {
  const writer = new PythonWriter();
  for (const type of types) writer.add(type);
  const names = types.map(({ name }) => text(name));
  return [
    `# ${NOTICE}\nfrom typing import Any, Dict, List, Literal, Optional, TypedDict, Union\n`,
    ...writer.classes,
    `EventType = ${names.length === 0 ? 'str' : `Literal[${names.join(', ')}]`}\n`,
  ].join('\n\n');
}

class PythonWriter {
  /** In the order in which they need each other. */
  readonly classes: string[] = [];
  readonly #names = new TypeNames();

  add(type: TypeToWrite): void {
    const name = this.#names.give(type.name);
    const { shape } = type;
    if (shape.kind === 'object' && shape.members.length > 0)
      this.#addClass(name, shape.members, describe(type));
    else this.classes.push(`# ${describe(type)}\n${name} = ${this.#typeOf(shape, name)}\n`);
  }

  #addClass(name: string, members: readonly Member[], comment: string): void {
    const typed = members.map((member) => ({
      ...member,
      type: this.#typeOf(member.shape, `${name}.${member.name}`),
    }));
    const [required, optional] = [true, false].map((is) =>
      typed.filter(({ isRequired }) => isRequired === is),
    );
    const doc = `    """${oneLine(comment)}"""\n`;
    // Names that are no identifiers can only be written as texts.
    if (typed.some(({ name: each }) => !isIdentifier(each))) {
      const bases = [
        this.#addFunctional(`${name}.required`, required ?? [], true),
        this.#addFunctional(`${name}.optional`, optional ?? [], false),
      ];
      this.classes.push(`class ${name}(${bases.join(', ')}):\n${doc}`);
      return;
    }
    const lines = (each: typeof typed = []) =>
      each.map((member) => `    ${member.name}: ${member.type}\n`).join('');
    if (required?.length === 0 || optional?.length === 0) {
      const total = required?.length === 0 ? ', total=False' : '';
      this.classes.push(`class ${name}(TypedDict${total}):\n${doc}\n${lines(typed)}`);
      return;
    }
    const base = this.#names.give(`${name}.required`);
    this.classes.push(`class ${base}(TypedDict):\n${lines(required)}`);
    this.classes.push(`class ${name}(${base}, total=False):\n${doc}\n${lines(optional)}`);
  }

  #addFunctional(words: string, members: readonly (Member & { type: string })[], isTotal: boolean): string {
    const name = this.#names.give(words);
    const fields = members.map((member) => `${text(member.name)}: ${member.type}`).join(', ');
    this.classes.push(`${name} = TypedDict("${name}", {${fields}}${isTotal ? '' : ', total=False'})\n`);
    return name;
  }

  #typeOf(shape: Shape, words: string): string {
    switch (shape.kind) {
      case 'unknown':
        return 'Any';
      case 'null':
        return 'None';
      case 'boolean':
        return 'bool';
      case 'integer':
        return 'int';
      case 'number':
        return 'float';
      case 'string':
        return 'str';
      case 'literals':
        return literalsOf(shape.values);
      case 'list':
        return `List[${this.#typeOf(shape.item, `${words}.item`)}]`;
      case 'map':
        return `Dict[str, ${this.#typeOf(shape.value, `${words}.value`)}]`;
      case 'union':
        return this.#unionOf(shape.shapes, words);
      case 'object': {
        if (shape.members.length === 0) return 'Dict[str, Any]';
        const name = this.#names.give(words);
        this.#addClass(name, shape.members, `${words}.`);
        return name;
      }
    }
  }

  #unionOf(shapes: readonly Shape[], words: string): string {
    const others = shapes.filter(({ kind }) => kind !== 'null').map((each) => this.#typeOf(each, words));
    const types = [...new Set(others)];
    const all = types.length === 1 ? String(types[0]) : `Union[${types.join(', ')}]`;
    return others.length < shapes.length ? `Optional[${all}]` : all;
  }
}

/** Literal has no fractions. */
function literalsOf(values: readonly Literal[]): string {
  if (values.length === 0 || values.some((value) => typeof value === 'number' && !Number.isInteger(value)))
    return 'Any';
  return `Literal[${values.map(literal).join(', ')}]`;
}

function literal(value: Literal): string {
  if (typeof value === 'string') return text(value);
  if (value === null) return 'None';
  return typeof value === 'boolean' ? (value ? 'True' : 'False') : String(value);
}

/** JSON's escapes mean the same in Python, but for the halves of pairs, which JSON.stringify writes as they are. */
function text(value: string): string {
  return JSON.stringify(value);
}

/** Two underscores at the beginning would be changed within a class. */
function isIdentifier(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !name.startsWith('__') && !KEYWORDS.has(name);
}
