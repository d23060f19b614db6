export type Command = readonly [string, ...string[]];

export type Instruction =
  | { readonly kind: 'workdir'; readonly path: string }
  | {
      readonly kind: 'copy';
      /** A stage; absent: the build context. */
      readonly from?: string;
      readonly sources: readonly string[];
      readonly destination: string;
    }
  | { readonly kind: 'run'; readonly command: string }
  | { readonly kind: 'env'; readonly name: string; readonly value: string }
  | { readonly kind: 'user'; readonly name: string }
  | { readonly kind: 'expose'; readonly port: number }
  | { readonly kind: 'label'; readonly labels: string }
  | { readonly kind: 'arg'; readonly name: string; readonly value: string }
  | { readonly kind: 'stopsignal'; readonly signal: string }
  | { readonly kind: 'healthcheck'; readonly command: Command }
  | { readonly kind: 'cmd'; readonly command: Command };

export interface Stage {
  readonly name: string;
  /** Another stage, or an image. */
  readonly from: string;
  readonly instructions: readonly Instruction[];
}

/**
 * Reads as much of the language as our Dockerfile uses.
 *
 * @throws Error for everything else: better than to pass it over.
 */
export function readDockerfile(text: string): readonly Stage[] {
  const stages: { name: string; from: string; instructions: Instruction[] }[] = [];
  for (const line of logicalLines(text)) {
    const from = /^FROM (\S+) AS (\S+)$/.exec(line);
    if (from) {
      stages.push({ from: from[1] ?? '', name: from[2] ?? '', instructions: [] });
      continue;
    }
    const stage = stages.at(-1);
    if (!stage) throw new Error(`Before the first FROM: ${line}`);
    stage.instructions.push(readInstruction(line));
  }
  return stages;
}

function logicalLines(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => !line.trimStart().startsWith('#'))
    .join('\n')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function readInstruction(line: string): Instruction {
  const [, keyword = '', rest = ''] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
  switch (keyword) {
    case 'WORKDIR':
      return { kind: 'workdir', path: rest };
    case 'COPY':
      return readCopy(rest);
    case 'RUN':
      return { kind: 'run', command: rest };
    case 'ENV':
      return { kind: 'env', ...readPair('ENV', rest) };
    case 'ARG':
      return { kind: 'arg', ...readPair('ARG', rest) };
    case 'USER':
      return { kind: 'user', name: rest };
    case 'LABEL':
      return { kind: 'label', labels: rest };
    case 'EXPOSE':
      return { kind: 'expose', port: Number(rest) };
    case 'STOPSIGNAL':
      return { kind: 'stopsignal', signal: rest };
    case 'HEALTHCHECK':
      return { kind: 'healthcheck', command: readCommand(rest.replace(/^(--\S+ +)*CMD /, '')) };
    case 'CMD':
      return { kind: 'cmd', command: readCommand(rest) };
    default:
      throw new Error(`This can't be followed: ${line}`);
  }
}

function readCopy(rest: string): Instruction {
  const words = rest.split(/\s+/);
  const from = words[0]?.startsWith('--from=') ? words.shift()?.slice('--from='.length) : undefined;
  if (words.length < 2 || words.some((word) => /^--|[*?[\]]/.test(word))) {
    throw new Error(`This can't be followed: COPY ${rest}`);
  }
  const destination = words.pop() ?? '';
  return { kind: 'copy', ...(from === undefined ? {} : { from }), sources: words, destination };
}

/** Of an environment variable or an argument. A value may be that of an argument: `$NAME`. */
function readPair(keyword: string, rest: string) {
  const match = /^([A-Z_]+)=(\$[A-Z_]+|[^\s"'$]*)$/.exec(rest);
  if (!match) throw new Error(`This can't be followed: ${keyword} ${rest}`);
  return { name: match[1] ?? '', value: match[2] ?? '' };
}

// Only the form that starts the program itself, which then gets the signals, rather than a shell around it.
function readCommand(text: string): Command {
  const words: unknown = text.startsWith('[') ? JSON.parse(text) : undefined;
  if (!isCommand(words)) throw new Error(`Not in exec form: ${text}`);
  return words;
}

function isCommand(words: unknown): words is Command {
  return Array.isArray(words) && words.length > 0 && words.every((word) => typeof word === 'string');
}
