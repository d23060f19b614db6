import { writeFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { type Cli, connect } from '../cli';
import { shapeOf } from '../event-types/schema-shape';
import type { TypeToWrite } from '../event-types/type-names';
import { writeGo } from '../event-types/write-go';
import { writePython } from '../event-types/write-python';
import { writeTypeScript } from '../event-types/write-typescript';
import { UsageError } from '../failures/usage-error';
import { addExample } from './example';

interface GenerateFlags {
  readonly lang: 'ts' | 'python' | 'go';
  readonly output?: string;
  readonly package: string;
  readonly all?: true;
}

export function addGenerate(types: Command, cli: Cli): void {
  const generate = types
    .command('generate')
    .description(
      'Write types of a programming language for the data of your event types, from their schemas.',
    )
    .addOption(
      new Option('--lang <language>', 'of the types').choices(['ts', 'python', 'go']).makeOptionMandatory(),
    )
    .option('-o, --output <file>', 'write into this file, also if it is there, instead of stdout')
    .option('--package <name>', 'with --lang go: the package', 'events')
    .option('--all', 'built-in types as well')
    .action((flags: GenerateFlags) => generateTypes(flags, cli));
  addExample(generate, 'hookferry types generate --lang ts -o src/events.ts');
}

async function generateTypes(flags: GenerateFlags, cli: Cli): Promise<void> {
  if (!/^[a-z][a-z0-9_]*$/.test(flags.package)) {
    throw new UsageError(
      `"${flags.package}" is not the name of a package.`,
      'Use lower-case letters, such as events.',
    );
  }
  const { data } = await (await connect(cli)).GET('/v1/event-types');
  const types = data
    .filter(({ origin }) => flags.all || origin === 'custom')
    .map(({ schema, ...type }): TypeToWrite => ({ ...type, shape: shapeOf(schema) }));
  if (types.length === 0) {
    throw new UsageError(
      'There are no event types of your own.',
      'Add one by "hookferry types put", or pass --all for the built-in ones.',
    );
  }
  const text = write(types, flags);
  if (flags.output === undefined) return cli.output.write(text);
  await writeFile(flags.output, text);
  cli.output.result(
    { file: flags.output, types: types.length },
    `Wrote ${types.length} types to ${flags.output}.`,
  );
}

function write(types: readonly TypeToWrite[], { lang, package: packageName }: GenerateFlags): string {
  switch (lang) {
    case 'ts':
      return writeTypeScript(types);
    case 'python':
      return writePython(types);
    case 'go':
      return writeGo(types, packageName);
  }
}
