import { spawn } from 'node:child_process';
import { resolve } from 'node:path';

const projectFolder = resolve(__dirname, '../..');

describe('npm start -- --demo', () => {
  it('delivers one signed event of each type, one of them at the second attempt, and ends with 0', async () => {
    const { exitCode, output } = await run(['tools/start.mjs', '--demo', '--skip-setup'], {
      API_PORT: '0',
      WORKER_PORT: '0',
    });

    expect(output).toContain('keyword.quick_win, attempt 1: signature verified, answering 200');
    expect(output).toContain('brief.created, attempt 1: signature verified, answering 500');
    expect(output).toContain('brief.created, attempt 2: signature verified, answering 200');
    expect(output).toContain('import.completed, attempt 1: signature verified, answering 200');
    expect(exitCode).toBe(0);
  });

  it('refuses an option that it does not know, and says which there are', async () => {
    const { exitCode, output } = await run(['tools/start.mjs', '--dmeo'], {});

    expect(output).toContain('Usage: npm start [-- --demo]');
    expect(exitCode).toBe(1);
  });
});

function run(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<{ exitCode: number | null; output: string }> {
  return new Promise((settle, reject) => {
    const child = spawn(process.execPath, args, {
      cwd: projectFolder,
      env: { ...process.env, ...environment },
    });
    let output = '';
    child.stdout.on('data', (text: Buffer) => (output += text.toString()));
    child.stderr.on('data', (text: Buffer) => (output += text.toString()));
    child.once('error', reject);
    child.once('close', (exitCode) => settle({ exitCode, output }));
  });
}
