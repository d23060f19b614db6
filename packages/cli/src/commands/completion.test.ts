import { spawnSync } from 'node:child_process';
import { Argument, Command } from 'commander';
import { wordsOf } from './completion';
import { completionScripts } from './completion-scripts';

const program = new Command('hookferry').option('--json');
program.command('webhooks').command('list').option('--status <status>');
program.command('completion').addArgument(new Argument('<shell>').choices(['bash', 'zsh']));

it('knows what may follow each command', () => {
  expect([...wordsOf(program)]).toEqual([
    ['', ['webhooks', 'completion', '--json', '--help']],
    ['webhooks', ['list', '--json', '--help']],
    ['webhooks list', ['--status', '--json', '--help']],
    ['completion', ['bash', 'zsh', '--json', '--help']],
  ]);
});

it('completes in bash', () => {
  const script = completionScripts.bash(wordsOf(program));
  const complete = (...words: string[]) => {
    const line = `COMP_WORDS=(${words.join(' ')} ""); COMP_CWORD=${words.length}; _hookferry; echo "\${COMPREPLY[*]}"`;
    return spawnSync('bash', ['-c', `${script}\n${line}`], { encoding: 'utf8' }).stdout.trim();
  };
  expect(complete('hookferry')).toBe('webhooks completion --json --help');
  expect(complete('hookferry', '--json', 'webhooks')).toBe('list --json --help');
  expect(complete('hookferry', 'webhooks', 'list', 'x')).toBe('--status --json --help');
});
