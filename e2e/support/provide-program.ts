import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const PROJECT = join(__dirname, '../..');
const FETCH_TIMEOUT_MS = 180_000;
/** For what takes as long as it takes. */
export const UNBOUNDED = 0;

/** A program that tests start, or why there is none. */
export type Provided<Program> = { readonly program: Program } | { readonly refusal: string };

/**
 * What a function of this project's tools finds or fetches. At once, since jest has to know before it starts whether
 * there is anything to run.
 *
 * @param module its path in the project.
 * @param call an expression with the function in it.
 * @param timeout in milliseconds.
 */
export function provideProgram<Program>(
  module: string,
  call: string,
  timeout = FETCH_TIMEOUT_MS,
): Provided<Program> {
  const name = /^\w+/.exec(call)?.[0];
  const program = `import { ${name} } from './${module}'; console.log(JSON.stringify(await ${call}));`;
  try {
    const args = ['--input-type=module', '--eval', program];
    const options = { cwd: PROJECT, encoding: 'utf8', timeout } as const;
    const said = execFileSync(process.execPath, args, options);
    return JSON.parse(said.trim().split('\n').at(-1) ?? '') as Provided<Program>;
  } catch (error) {
    return { refusal: String(error) };
  }
}
