import type { components } from '@hookferry/client';

interface ReadDeadLetter {
  readonly letter: components['schemas']['ListedDeadLetter'];
  readonly dataText: string;
}

const DATA = ',"data":';

/** Takes the data as they were written: parsed, large numbers would be others. They are the last member. */
export function readDeadLetter(text: string): ReadDeadLetter {
  const at = text.indexOf(DATA);
  return {
    letter: JSON.parse(`${text.slice(0, at)}}`) as ReadDeadLetter['letter'],
    dataText: text.slice(at + DATA.length, -1),
  };
}

/** For people. As it is where that would change it, or it is nested too deeply. */
export function indented(json: string): string {
  try {
    const value: unknown = JSON.parse(json);
    return JSON.stringify(value) === json ? JSON.stringify(value, null, 2) : json;
  } catch {
    return json;
  }
}
