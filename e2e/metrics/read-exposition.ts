/** How a process responds to Prometheus. */
export interface Exposition {
  readonly families: readonly { readonly name: string; readonly type: string; readonly help: string }[];
  readonly samples: readonly ExposedSample[];
}

export interface ExposedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const SAMPLE = /^(\w+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export async function readExposition(address: string): Promise<Exposition> {
  const response = await fetch(`${address}/metrics`);
  return parseExposition(await response.text());
}

function parseExposition(text: string): Exposition {
  const lines = text.split('\n');
  const types = new Map(lines.flatMap((line) => declared('TYPE', line)));
  const families = lines
    .flatMap((line) => declared('HELP', line))
    .map(([name, help]) => ({ name, help, type: types.get(name) ?? '' }));
  const samples = lines.flatMap((line) => {
    const [, name, labels = '', value] = SAMPLE.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(LABEL)].map(
      ([, label = '', labelled = '']) => [label, labelled] as const,
    );
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
  return { families, samples };
}

function declared(kind: 'TYPE' | 'HELP', line: string): readonly (readonly [string, string])[] {
  const [, name, rest] = new RegExp(`^# ${kind} (\\w+) (.*)$`).exec(line) ?? [];
  return name === undefined || rest === undefined ? [] : [[name, rest]];
}
