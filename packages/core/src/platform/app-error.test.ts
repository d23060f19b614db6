import { prototypeErrors } from './app-error';

const pointersIn = (json: string) => prototypeErrors(JSON.parse(json)).map(({ pointer }) => pointer);

describe('prototypeFaults', () => {
  it.each<[string, string[]]>([
    ['{"a":{"b":[1,null,"__proto__"]},"constructor":{"prototype":1}}', []],
    ['{"__proto__":null}', ['/__proto__']],
    ['{"\\u005f_proto__":1}', ['/__proto__']],
    ['{"a":[{"b":1},{"__proto__":{"__proto__":1}}]}', ['/a/1/__proto__', '/a/1/__proto__/__proto__']],
  ])('finds in %s: %j', (json, pointers) => {
    expect(pointersIn(json)).toEqual(pointers);
  });
});
