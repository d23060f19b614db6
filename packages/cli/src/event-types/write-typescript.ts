import type { Shape } from './schema-shape';
import { describe, NOTICE, oneLine, type TypeToWrite } from './type-names';

/** A map from event type to the type of its data, for the packages of JavaScript. */
export function writeTypeScript(types: readonly TypeToWrite[]): string {
  const members = types.map(
    (type) => `  /** ${describe(type)} */\n  ${JSON.stringify(type.name)}: ${typeOf(type.shape, '  ')};\n`,
  );
  return `// ${NOTICE}\n\n/** The data of each event type. */\nexport interface Events {\n${members.join('')}}\n`;
}

function typeOf(shape: Shape, indent: string): string {
  switch (shape.kind) {
    case 'integer':
      return 'number';
    case 'literals':
      return shape.values.map((value) => JSON.stringify(value)).join(' | ') || 'never';
    case 'list':
      return `Array<${typeOf(shape.item, indent)}>`;
    case 'map':
      return `Record<string, ${typeOf(shape.value, indent)}>`;
    case 'union':
      return [...new Set(shape.shapes.map((each) => typeOf(each, indent)))].join(' | ');
    case 'object':
      return objectOf(shape, indent);
    case 'null':
    case 'boolean':
    case 'number':
    case 'string':
    case 'unknown':
      return shape.kind;
  }
}

function objectOf({ members }: Extract<Shape, { kind: 'object' }>, indent: string): string {
  const inner = `${indent}  `;
  const lines = members.map(({ name, shape, isRequired, description }) => {
    const comment = description === undefined ? '' : `${inner}/** ${oneLine(description)} */\n`;
    return `${comment}${inner}${JSON.stringify(name)}${isRequired ? '' : '?'}: ${typeOf(shape, inner)};\n`;
  });
  return lines.length === 0 ? 'Record<string, unknown>' : `{\n${lines.join('')}${indent}}`;
}
