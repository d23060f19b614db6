import { PROJECT } from './pack-package';
import { runWell } from './run-program';

/**
 * What a function of this project's tools gives, as JSON: they are ES modules that nothing compiles, so it is called in a
 * process of its own.
 *
 * @param module its path in the project
 * @param call an expression with the function in it
 * @throws Error with what it wrote, if it fails.
 */
export async function askTool<T>(module: string, call: string): Promise<T | undefined> {
  const name = /^\w+/.exec(call)?.[0];
  const program = `import { ${name} } from './${module}'; console.log(JSON.stringify((await ${call}) ?? null));`;
  const output = await runWell(process.execPath, ['--input-type=module', '--eval', program], PROJECT);
  // Before it stands what the tool says of what it does.
  const last = output.trimEnd().split('\n').at(-1) ?? '';
  return (JSON.parse(last) as T | null) ?? undefined;
}
