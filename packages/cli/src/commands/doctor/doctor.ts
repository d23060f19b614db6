import type { Command } from 'commander';
import { type Cli, clientOf, readConnection } from '../../cli';
import { CheckFailed } from '../../failures/check-failed';
import type { Colour } from '../../output/colours';
import type { Output } from '../../output/output';
import { visible } from '../../output/visible';
import { PACKAGE_VERSION } from '../../version';
import { addExample } from '../example';
import { checkHistory, checkKey } from './check-key';
import { checkOperations } from './check-operations';
import { checkService } from './check-service';
import type { Finding } from './finding';

const MARKS: Readonly<Record<Finding['state'], readonly [mark: string, colour: Colour]>> = {
  good: ['ok  ', 'green'],
  doubtful: ['hmm ', 'yellow'],
  bad: ['FAIL', 'red'],
};

export function addDoctor(program: Command, cli: Cli): void {
  const doctor = program
    .command('doctor')
    .description(
      "Find out what is wrong between this machine and the API, and say what to do. With an operator's admin key, also: paused queues, no worker, settings that differ.",
    )
    .action(() => examine(cli));
  addExample(doctor, 'hookferry doctor --profile ci');
}

async function examine(cli: Cli): Promise<void> {
  const { output } = cli;
  const connection = await readConnection(cli);
  const service = await checkService(connection.url);
  const isServing = service.every(({ state }) => state !== 'bad');
  const client = clientOf(connection, cli);
  const key = isServing ? await checkKey(client) : [];
  const isKnown = isServing && key.every(({ state }) => state !== 'bad');
  const told = isKnown ? await Promise.all([checkHistory(client), checkOperations(client)]) : [];
  const findings = [...service, ...key, ...told.flat()];
  const isGood = findings.every(({ state }) => state !== 'bad');
  if (output.isJson)
    output.result({ is_good: isGood, url: connection.url, cli_version: PACKAGE_VERSION, findings }, '');
  else for (const finding of findings) print(finding, output);
  if (!isServing && !output.isJson) output.note('The key was not tried.');
  if (!isGood) throw new CheckFailed();
}

function print({ check, state, detail, advice }: Finding, output: Output): void {
  const [mark, colour] = MARKS[state];
  output.write(`${output.paint(colour, mark)}  ${check.padEnd(10)} ${visible(detail)}\n`);
  if (advice !== undefined) output.write(`${' '.repeat(17)}${advice}\n`);
}
