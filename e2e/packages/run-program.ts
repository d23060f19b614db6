import { execFile } from 'node:child_process';

export interface ProgramResult {
  readonly code: number;
  /** What it wrote, to standard output and standard error. */
  readonly output: string;
}

/** Runs a program to its end. Nothing of this project's npm is left in its environment. */
export function runProgram(
  command: string,
  parameters: readonly string[],
  cwd: string,
): Promise<ProgramResult> {
  const environment = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name));
  const options = { cwd, env: Object.fromEntries(environment), maxBuffer: 16_777_216 };
  return new Promise((resolve, reject) => {
    execFile(command, [...parameters], options, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') reject(error);
      else resolve({ code: Number(error?.code ?? 0), output: stdout + stderr });
    });
  });
}

/** @throws Error with what it wrote, if it fails. */
export async function runWell(command: string, parameters: readonly string[], cwd: string): Promise<string> {
  const { code, output } = await runProgram(command, parameters, cwd);
  if (code !== 0) throw new Error(`${command} ${parameters.join(' ')} ended with ${code}:\n${output}`);
  return output;
}
